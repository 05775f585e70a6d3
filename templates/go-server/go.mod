module example.com/go-server

go 1.19
