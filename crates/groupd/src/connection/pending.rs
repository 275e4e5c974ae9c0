//! A request that has begun: its place in the order of answers, and what its answer still waits for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use coordinator::messages::Response;
use coordinator::transactions::TransactionResponse;

use crate::apis::{self, AskedFetch, Client, Head};
use crate::node::Node;
use crate::shard::{Answer, NoAnswer};
use crate::wire::{Asked, transactions};

/// One request in progress. Dropped before its answer came, it tells those it asked that nobody waits.
#[derive(Debug)]
pub(crate) struct Pending {
    head: Head,
    begun: Instant,
    work: Work,
    /// A fault: its connection ends where its answer would be written.
    is_lost: bool,
}

#[derive(Debug)]
enum Work {
    /// The answer's frame.
    Ready(Vec<u8>),
    /// Coordinators were asked: their answers in the order of the questions.
    Group { asked: Asked, answers: Answers<Response> },
    /// A transaction coordinator was asked.
    Transaction { asked: transactions::Asked, answers: Answers<TransactionResponse> },
    /// A fetch, until its time is over.
    Fetch { asked: AskedFetch, answers: Answers<()> },
}

/// Answers to come, taken in order.
#[derive(Debug)]
struct Answers<T> {
    waiting: std::vec::IntoIter<Answer<T>>,
    next: Option<Answer<T>>,
    got: Vec<T>,
    lost: bool,
}

/// Why an answer cannot be written: its connection must end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("a request was not answered: its member has asked again elsewhere, or the server stops")]
    Lost,
    #[error("an answer cannot be written: {0}")]
    Unwritable(#[from] kafka_wire::WireError),
}

impl Pending {
    /// A request whose answer is known.
    pub(crate) fn ready(head: Head, frame: Vec<u8>) -> Self {
        Self::new(head, Work::Ready(frame))
    }

    /// A request that coordinators answer.
    pub(crate) fn group(head: Head, answers: Vec<Answer<Response>>, asked: Asked) -> Self {
        Self::new(head, Work::Group { asked, answers: Answers::new(answers) })
    }

    /// A request that a transaction coordinator answers.
    pub(crate) fn transaction(
        head: Head,
        answer: Answer<TransactionResponse>,
        asked: transactions::Asked,
    ) -> Self {
        Self::new(head, Work::Transaction { asked, answers: Answers::new(vec![answer]) })
    }

    /// A fetch; `answer` comes when its time is over.
    pub(crate) fn fetch(head: Head, answer: Option<Answer<()>>, asked: AskedFetch) -> Self {
        Self::new(head, Work::Fetch { asked, answers: Answers::new(answer.into_iter().collect()) })
    }

    fn new(head: Head, work: Work) -> Self {
        Self { head, begun: Instant::now(), work, is_lost: false }
    }

    /// The same, but its connection is to end instead of the answer.
    pub(crate) fn lost(self) -> Self {
        Self { is_lost: true, ..self }
    }

    /// Whether its connection is to end instead of the answer.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Ready when the answer can be written.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.work {
            Work::Ready(_) => Poll::Ready(()),
            Work::Group { answers, .. } => answers.poll_all(cx),
            Work::Transaction { answers, .. } => answers.poll_all(cx),
            Work::Fetch { answers, .. } => answers.poll_all(cx),
        }
    }

    /// Whether the answer can be written.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Writes the answer's frame to `out`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(crate) fn write(self, node: &Node, client: &mut Client, out: &mut Vec<u8>) -> Result<(), Unanswered> {
        let Self { head, begun, work, is_lost: _ } = self;
        match work {
            Work::Ready(frame) if out.is_empty() => *out = frame,
            Work::Ready(frame) => out.extend_from_slice(&frame),
            Work::Group { asked, answers } => {
                apis::respond_group(node, client, head, &asked, answers.all()?, out)?;
            }
            Work::Transaction { asked, answers } => {
                apis::respond_transaction(head, &asked, answers.all()?.pop(), out)?;
            }
            Work::Fetch { asked, answers } => {
                answers.all()?;
                apis::respond(head, out, |out| asked.encode(&node.catalog.topics(), head.version, out))?;
            }
        }
        node.measured.answered(head.api, begun.elapsed());
        Ok(())
    }
}

impl<T> Answers<T> {
    fn new(answers: Vec<Answer<T>>) -> Self {
        let got = Vec::with_capacity(answers.len());
        let mut waiting = answers.into_iter();
        let next = waiting.next();
        Self { waiting, next, got, lost: false }
    }

    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(next) = &mut self.next {
            match std::task::ready!(Pin::new(next).poll(cx)) {
                Ok(response) => self.got.push(response),
                Err(NoAnswer) => self.lost = true,
            }
            self.next = self.waiting.next();
        }
        Poll::Ready(())
    }

    fn all(self) -> Result<Vec<T>, Unanswered> {
        if self.lost { Err(Unanswered::Lost) } else { Ok(self.got) }
    }
}
