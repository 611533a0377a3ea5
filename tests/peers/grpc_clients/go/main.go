// The calls of grpc_clients.py by grpc-go with its default settings:
// PORT PUTS SERIAL LISTED.  Prints a line per story: its name and a count.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "clients/urlfrontier"
)

const crawl = "grpc-go"

func item(story string, i int) *pb.URLItem {
	return &pb.URLItem{Item: &pb.URLItem_Discovered{
		Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{
			Url:     fmt.Sprintf("http://h%d.go/%s/%d", i%1000, story, i),
			CrawlID: crawl,
		}}}}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Returns the acknowledgements with status OK.
func readAcks(s pb.URLFrontier_PutURLsClient) (n int) {
	for {
		ack, err := s.Recv()
		if err == io.EOF {
			return n
		}
		check(err)
		if ack.Status == pb.AckMessage_OK {
			n++
		}
	}
}

func put(c pb.URLFrontierClient, story string, from, to int) int {
	s, err := c.PutURLs(context.Background())
	check(err)
	acks := make(chan int)
	go func() { acks <- readAcks(s) }()
	for i := from; i < to; i++ {
		if s.Send(item(story, i)) != nil {
			break // Recv has the reason.
		}
	}
	check(s.CloseSend())
	return <-acks
}

func list(c pb.URLFrontierClient, size int) (n int) {
	s, err := c.ListURLs(context.Background(), &pb.ListUrlParams{
		CrawlID: crawl, Size: uint32(size)})
	check(err)
	for {
		_, err := s.Recv()
		if err == io.EOF {
			return n
		}
		check(err)
		n++
	}
}

func main() {
	var n [3]int
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(os.Args[2+i])
		check(err)
	}
	conn, err := grpc.NewClient("127.0.0.1:"+os.Args[1],
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	c := pb.NewURLFrontierClient(conn)
	fmt.Println("put", put(c, "put", 0, n[0]))
	serial := 0
	for i := 0; i < n[1]; i++ {
		serial += put(c, "serial", i, i+1)
	}
	fmt.Println("serial", serial)
	fmt.Println("listed", list(c, n[2]))
}
