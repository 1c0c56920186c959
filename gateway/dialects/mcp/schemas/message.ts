import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';

const Any = Type.Optional(Type.Unsafe<unknown>({}));

/** A message of JSON-RPC: a request, a notification or a reply. What it holds is checked where its era is known. */
export const RpcMessage = Type.Object({
  jsonrpc: Any,
  id: Any,
  method: Any,
  params: Any,
  result: Any,
  error: Any,
});
export type RpcMessage = Static<typeof RpcMessage>;
