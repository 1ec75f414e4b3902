// Lockstep's member contract for operators in Go. It needs nothing but the standard library.
module lockstep.karmada.io/sdk

go 1.24
