import { sizes } from '@agent-workflow/kit/sizes';
import { Client } from '@grpc/grpc-js';
import { toChannelCredentials, type WireSecurity } from './security.ts';
import { spreading } from './spread.ts';

/** A client of the servers at `address`, each of which is called in turn as long as it answers pings. */
export const openClient = (address: string, security: WireSecurity): Client =>
  new Client(targetOf(address), toChannelCredentials(security), channelOptions);

const targetOf = (address: string): string => (/^(dns|ipv4|ipv6|unix):/.test(address) ? address : `dns:///${address}`);

// No retry policy of gRPC: its retries and hedges may go to the replica that they are to avoid, and it knows no attempt id.
const channelOptions = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ [spreading]: {} }] }),
  'grpc.max_receive_message_length': sizes.rpc,
  'grpc.max_send_message_length': sizes.rpc,
  // A server whose process or machine hangs sends no RST: a connection on which no ping is answered is dropped, its calls
  // fail, and no more go there until it answers again. Connections without calls are checked too. A shorter timeout would drop
  // sound connections, as 2.5 s did on two busy cores: where this process itself was paused, its timer fires before it has read
  // the answer. Few calls wait for this timeout (`replica-watch.ts`).
  'grpc.keepalive_time_ms': 1000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  // The defaults wait a second at first and up to two minutes: a server that is back would not be called.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
};
