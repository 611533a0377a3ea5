module clients

go 1.24

require (
	google.golang.org/grpc v1.81.1
	google.golang.org/protobuf v1.36.11
)
