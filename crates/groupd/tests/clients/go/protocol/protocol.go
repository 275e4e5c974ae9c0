// Package protocol is how a client program talks with the driver (see python/protocol.py).
package protocol

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Args are what the driver starts a program with.
type Args struct {
	Bootstrap, Group, Topic, Instance, TransactionalID string
	Session, Heartbeat, Timeout                        time.Duration
	Admin                                              bool
}

// Parse reads the command line.
func Parse() Args {
	var args Args
	flag.StringVar(&args.Bootstrap, "bootstrap", "", "HOST:PORT")
	flag.StringVar(&args.Group, "group", "", "group id")
	flag.StringVar(&args.Topic, "topic", "", "topic")
	flag.StringVar(&args.Instance, "instance", "", "group.instance.id")
	flag.BoolVar(&args.Admin, "admin", false, "serve admin commands, not a member")
	flag.StringVar(&args.TransactionalID, "transactional-id", "", "serve a transactional producer of this id")
	timeout := flag.Int("timeout-ms", 60000, "transaction timeout")
	session := flag.Int("session-ms", 6000, "session timeout")
	heartbeat := flag.Int("heartbeat-ms", 1000, "heartbeat interval")
	flag.Parse()
	args.Timeout = time.Duration(*timeout) * time.Millisecond
	args.Session = time.Duration(*session) * time.Millisecond
	args.Heartbeat = time.Duration(*heartbeat) * time.Millisecond
	return args
}

// Fields are those of one event.
type Fields map[string]any

var printing sync.Mutex

// Say prints one event.
func Say(event string, fields Fields) {
	line := Fields{"event": event}
	for name, value := range fields {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(text))
}

// Error says what went wrong; a member whose instance id was taken says `fenced`.
func Error(err error) {
	text := err.Error()
	lower := strings.ToLower(text)
	fenced := strings.Contains(lower, "fenced") || strings.Contains(lower, "rejected this static consumer")
	if fenced && strings.Contains(lower, "instance") {
		Say("fenced", Fields{"message": text})
	} else {
		Say("error", Fields{"message": text})
	}
}

// Commands are the lines of standard input split into words; its end is a close.
func Commands() <-chan []string {
	lines := make(chan []string)
	go func() {
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			if words := strings.Fields(scanner.Text()); len(words) > 0 {
				lines <- words
			}
		}
		lines <- []string{"close"}
	}()
	return lines
}

// ServeAdmin answers each command until `close`; an operation that is not there is said to be unsupported.
func ServeAdmin(operations map[string]func(args []string) (any, error)) {
	Say("ready", nil)
	for words := range Commands() {
		if words[0] == "close" {
			break
		}
		operation, known := operations[words[0]]
		if !known {
			Say("reply", Fields{"ok": false, "unsupported": true, "error": words[0]})
			continue
		}
		result, err := operation(words[1:])
		if err != nil {
			Say("reply", Fields{"ok": false, "error": err.Error()})
		} else {
			Say("reply", Fields{"ok": true, "result": result})
		}
	}
	Say("closed", nil)
}
