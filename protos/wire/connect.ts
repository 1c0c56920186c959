import { status, type ClientReadableStream } from '@grpc/grpc-js';
import type { Call } from '../call.ts';
import { createCallStreams } from './call-streams.ts';
import { openClient } from './channel.ts';
import { definitionOf, methodName, retryRuleOf, type Context, type Services } from './definitions.ts';
import { createInflow, type Inflow } from './flow.ts';
import { createHedgeBudget } from './hedge-budget.ts';
import { unavailable } from '@agent-workflow/kit/errors';
import { refusal } from './link.ts';
import { withCheckedReplies } from './listed.ts';
import { watchReplicas } from './replica-watch.ts';
import { toMetadata, type WireSecurity } from './security.ts';
import { spreadBy } from './spread.ts';
import { fromStatus } from './status.ts';
import { awaitReply, leavePlace, translate, withHeaders, type Outgoing } from './unary.ts';

/**
 * The service of a context as served at `address` (`host:port`, whose every address is used in turn, or a gRPC target such
 * as `ipv4:10.0.0.1:50051,10.0.0.2:50051`), shown what `security` says. It connects when first called. The ids and
 * the trace of the request context go along with each call. Disposal closes it: later calls are `Unavailable`.
 */
export function connect<C extends Context>(
  context: C,
  address: string,
  security: WireSecurity = {},
): Services[C] & AsyncDisposable {
  const client = openClient(address, security);
  const metadata = toMetadata(security);
  const watch = watchReplicas(client);
  const streams = createCallStreams(client, metadata, watch.silent);
  const methods = Object.entries(definitionOf(context)).map(([rpcName, rpc]): [string, unknown] => {
    const name = methodName(rpcName);
    const checked = withCheckedReplies(context, rpc);
    const parts = {
      context,
      address,
      client,
      metadata,
      streams,
      rpc: checked,
      watch,
      budget: createHedgeBudget(),
      rule: retryRuleOf(context, name),
    };
    const make = rpc.responseStream ? followStream : awaitReply;
    return [name, (request: object, call: Call) => make({ ...parts, request, call })];
  });
  const close = (): Promise<void> => {
    watch[Symbol.dispose]();
    streams[Symbol.dispose]();
    client.close();
    return Promise.resolve();
  };
  // The methods are those of the proto's service, which the loaded definition does not type.
  return { ...Object.fromEntries(methods), [Symbol.asyncDispose]: close } as unknown as Services[C] & AsyncDisposable;
}

/** A stream ends as `Unavailable` when its replica has fallen silent and another answers: there its reader can go on. */
async function* followStream(outgoing: Outgoing): AsyncGenerator<object, undefined> {
  const { signal } = outgoing.call;
  const refused = refusal(outgoing.call);
  if (refused) throw refused;
  const { watch } = outgoing;
  let stream: ClientReadableStream<object> | undefined;
  let place = '';
  const cancel = (): void => stream?.cancel();
  const onSilent = (): void => {
    void watch.isAnotherThere(place).then((is) => {
      if (is) stream?.destroy(unavailable('a needed service is unavailable'));
    });
  };
  const onPick = (address: string): void => {
    watch.leave(place, onSilent);
    place = address;
    watch.enter(address, onSilent);
  };
  signal.addEventListener('abort', cancel);
  try {
    const inflow = createInflow(outgoing.rpc.responseDeserialize);
    stream = openStream(outgoing, inflow, onPick);
    for await (const item of stream) {
      outgoing.call.replicas?.set(outgoing.context, place);
      inflow.taken();
      yield item as object;
    }
  } catch (error) {
    if (signal.aborted) throw fromStatus(status.CANCELLED, undefined, error);
    const failure = translate(error, outgoing);
    leavePlace(outgoing.call, outgoing.context, failure, new Set([place]));
    throw failure;
  } finally {
    signal.removeEventListener('abort', cancel);
    watch.leave(place, onSilent);
    cancel();
  }
}

function openStream(
  { context, client, metadata, rpc, watch, request, call }: Outgoing,
  { deserialize, bound }: Inflow,
  onPick: (address: string) => void,
): ClientReadableStream<object> {
  const { path, requestSerialize } = rpc;
  const options = { deadline: call.deadline };
  const own = withHeaders(metadata, call);
  const preferred = call.replicas?.get(context);
  spreadBy({ addresses: new Set(), mustDiffer: false, silent: watch.silent, preferred, onPick }, own);
  const stream = client.makeServerStreamRequest(path, requestSerialize, deserialize, request, own, options);
  bound(stream);
  // Iterating throws what matters; once it is left, the cancellation itself still arrives as an event.
  stream.on('error', () => undefined);
  return stream;
}
