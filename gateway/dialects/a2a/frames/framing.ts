import type { RpcState } from '../../../http/dialect.ts';
import type { StreamResponse } from './task-frames.ts';

interface Encoding {
  readonly runId: string;
  readonly seq: number;
  readonly skipped: number;
  readonly rpc: RpcState | undefined;
}

/** The events of a stream as server-sent ones: of JSON-RPC, each is a reply with the id of the call. Ids are `{run}:{number}.{index}`. */
export const encodeResponses = (
  responses: readonly StreamResponse[],
  { runId, seq, skipped, rpc }: Encoding,
): readonly Uint8Array[] =>
  responses.slice(skipped).map((response, at) => {
    const body = rpc ? { jsonrpc: '2.0', id: rpc.id, result: response } : response;
    return Buffer.from(`id: ${runId}:${String(seq)}.${String(skipped + at)}\ndata: ${JSON.stringify(body)}\n\n`);
  });
