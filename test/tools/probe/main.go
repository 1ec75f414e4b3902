// Command probe is the user of an etcd under test.
//
//	probe run -endpoints A,B -proxy HOST:PORT -out FILE   writes and reads until standard input ends
//	probe check FILE                                      is what the clients saw linearizable?
//
// `run` records every attempt of every request as one line of JSON, and looks at every member many times a second. It
// follows etcd's own list of members. At the end it reads back every write that was acknowledged, and prints what is
// missing.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: probe run|check ...")
	}
	var err error
	switch os.Args[1] {
	case "run":
		err = run(os.Args[2:])
	case "check":
		err = check(os.Args[2:])
	default:
		err = fmt.Errorf("no command %q; there are run and check", os.Args[1])
	}
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
