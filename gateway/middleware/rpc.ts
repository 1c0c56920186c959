import { notFound } from '@agent-workflow/kit/errors';
import { bodyReader } from '../http/body.ts';
import type { Context } from '../http/context.ts';
import type { Dialect, Rpc, RpcId } from '../http/dialect.ts';
import type { Route, Row } from '../http/endpoint.ts';
import type { RequestConfig } from '../http/settings.ts';
import type { Admission } from './admission.ts';
import { bodyArrival, sentWith } from './endpoint.ts';

interface Handled {
  readonly row: Row;
  readonly handle: (ctx: Context) => Promise<void>;
}

interface RpcOptions {
  readonly dialect: Pick<Dialect, 'bodyTypes' | 'checkSent'>;
  readonly config: Pick<RequestConfig, 'MAX_BODY_BYTES'>;
  readonly admission: Pick<Admission, 'reserveBody'>;
}

/** The path at which rows are called by JSON-RPC: reads the body, and hands the request to the row that it calls. */
export function rpcRoute(
  { path, read }: Rpc,
  rows: readonly Handled[],
  { dialect, config, admission }: RpcOptions,
): { readonly route: Route; readonly handle: (ctx: Context) => Promise<void> } {
  const byName = new Map(rows.map(({ row, handle }) => [row.name, handle]));
  const readBody = bodyReader({ maxBytes: config.MAX_BODY_BYTES, arrival: bodyArrival, types: dialect.bodyTypes });
  const handle = async (ctx: Context): Promise<void> => {
    ctx.state.rpc = { id: null, isRead: false };
    admission.reserveBody(ctx);
    if (!(await readBody(ctx))) return;
    const body = ctx.state.body ?? {};
    ctx.state.rpc = { id: idIn(body), isRead: true };
    const routed = ctx as Context & { params: Readonly<Record<string, string>> };
    // Before the method: those of other versions have other names.
    dialect.checkSent?.(sentWith(ctx), path);
    const { row, params, input } = read(body, routed.params);
    routed.params = params;
    ctx.state.called = input;
    const call = byName.get(row);
    if (!call) throw notFound(`there is no operation "${row}"`);
    await call(ctx);
  };
  return { route: { method: 'POST', path }, handle };
}

function idIn({ id }: Readonly<Record<string, unknown>>): RpcId {
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null;
}
