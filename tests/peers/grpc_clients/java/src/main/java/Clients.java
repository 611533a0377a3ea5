import crawlercommons.urlfrontier.Urlfrontier.AckMessage;
import crawlercommons.urlfrontier.Urlfrontier.DiscoveredURLItem;
import crawlercommons.urlfrontier.Urlfrontier.ListUrlParams;
import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import crawlercommons.urlfrontier.Urlfrontier.URLItem;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;

/**
 * The calls of grpc_clients.py by grpc-java with its default settings:
 * PORT PUTS SERIAL LISTED.  Prints a line per story: its name and a count.
 */
public class Clients {
	private static final String CRAWL = "grpc-java";

	/** What a stub would have; its generator is no Java. */
	private static <Q extends Message, A extends Message>
	    MethodDescriptor<Q, A> method(String name, MethodType type,
	    Q asked, A answer) {
		return MethodDescriptor.<Q, A>newBuilder().setType(type)
		    .setFullMethodName("urlfrontier.URLFrontier/" + name)
		    .setRequestMarshaller(ProtoUtils.marshaller(asked))
		    .setResponseMarshaller(ProtoUtils.marshaller(answer))
		    .build();
	}

	private static final MethodDescriptor<URLItem, AckMessage> PUT =
	    method("PutURLs", MethodType.BIDI_STREAMING,
	    URLItem.getDefaultInstance(), AckMessage.getDefaultInstance());
	private static final MethodDescriptor<ListUrlParams, URLItem> LIST =
	    method("ListURLs", MethodType.SERVER_STREAMING,
	    ListUrlParams.getDefaultInstance(), URLItem.getDefaultInstance());

	private static URLItem item(String story, int i) {
		return URLItem.newBuilder().setDiscovered(
		    DiscoveredURLItem.newBuilder().setInfo(
		    URLInfo.newBuilder().setCrawlID(CRAWL).setUrl(
		    "http://h" + i % 1000 + ".java/" + story + "/" + i)))
		    .build();
	}

	/** Sends while there is room, and counts the acknowledgements. */
	private static class Put
	    implements ClientResponseObserver<URLItem, AckMessage> {
		final CompletableFuture<Integer> done =
		    new CompletableFuture<>();
		final String story;
		final int to;
		int at, acked;
		boolean closed;

		Put(String story, int from, int to) {
			this.story = story;
			this.at = from;
			this.to = to;
		}

		@Override
		public void beforeStart(ClientCallStreamObserver<URLItem> c) {
			c.setOnReadyHandler(() -> {
				while (at < to && c.isReady())
					c.onNext(item(story, at++));
				if (at == to && !closed) {
					closed = true;
					c.onCompleted();
				}
			});
		}

		@Override
		public void onNext(AckMessage ack) {
			if (ack.getStatus() == AckMessage.Status.OK)
				acked++;
		}

		@Override
		public void onError(Throwable t) {
			done.completeExceptionally(t);
		}

		@Override
		public void onCompleted() {
			done.complete(acked);
		}
	}

	private static int put(ManagedChannel channel, String story, int from,
	    int to) throws Exception {
		Put put = new Put(story, from, to);

		ClientCalls.asyncBidiStreamingCall(
		    channel.newCall(PUT, CallOptions.DEFAULT), put);
		return put.done.get();
	}

	private static int list(ManagedChannel channel, int size) {
		Iterator<URLItem> all = ClientCalls.blockingServerStreamingCall(
		    channel, LIST, CallOptions.DEFAULT,
		    ListUrlParams.newBuilder().setCrawlID(CRAWL)
		    .setSize(size).build());
		int n = 0;

		while (all.hasNext()) {
			all.next();
			n++;
		}
		return n;
	}

	public static void main(String[] words) throws Exception {
		ManagedChannel channel = ManagedChannelBuilder.forAddress(
		    "127.0.0.1", Integer.parseInt(words[0])).usePlaintext()
		    .build();
		int serial = 0;

		System.out.println("put " + put(channel, "put", 0,
		    Integer.parseInt(words[1])));
		for (int i = 0; i < Integer.parseInt(words[2]); i++)
			serial += put(channel, "serial", i, i + 1);
		System.out.println("serial " + serial);
		System.out.println("listed " + list(channel,
		    Integer.parseInt(words[3])));
		channel.shutdownNow();
	}
}
