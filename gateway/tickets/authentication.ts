import { ServiceError } from '@agent-workflow/kit/errors';
import type { Row } from '../http/endpoint.ts';
import type { Authenticate } from '../http/access.ts';
import type { Context, Principal } from '../http/context.ts';
import type { TicketStore } from './port.ts';
import { grantOf } from './ticket.ts';

interface TicketAuthenticationOptions {
  readonly endpoints: readonly Row[];
  readonly tickets: TicketStore;
  /** Authenticates every request without a ticket. */
  readonly authenticate: Authenticate;
}

/**
 * Authenticates requests for the stream of a run by their ticket. A request with an `Authorization` header is authenticated by
 * that alone, so that a ticket does not hide refused credentials. The ticket is removed from the URL, so that no later log line
 * or message contains it.
 */
export function withTickets({ endpoints, tickets, authenticate }: TicketAuthenticationOptions): Authenticate {
  const paths = endpoints.filter(({ takesTicket }) => takesTicket).map(({ path }) => aroundRunId(path));
  return (ctx) => {
    const written = ctx.method === 'GET' ? runIdIn(ctx.path, paths) : undefined;
    const { readId } = ctx.state.dialect;
    const runId = readId && written !== undefined ? readId(written) : written;
    const ticket = runId === undefined ? undefined : takeTicket(ctx);
    if (runId === undefined || ticket === undefined || ctx.req.headers.authorization !== undefined)
      return authenticate(ctx);
    return principalOf(ctx, tickets, { runId, ticket });
  };
}

/** The parts of a path before and after the run's id. */
type AroundRunId = readonly [before: string, after: string];

function aroundRunId(path: string): AroundRunId {
  const [before = '', after = ''] = path.split('{run_id}');
  return [before, after];
}

function runIdIn(path: string, paths: readonly AroundRunId[]): string | undefined {
  const around = paths.find(([before, after]) => path.startsWith(before) && path.endsWith(after));
  if (!around) return undefined;
  const runId = path.slice(around[0].length, path.length - around[1].length);
  return runId === '' || runId.includes('/') ? undefined : decodeURIComponent(runId);
}

/** Removes `ticket` from the query and gives it; `""`, which is no ticket, when there are several. */
function takeTicket(ctx: Context): string | undefined {
  const { ticket, ...rest } = ctx.query;
  if (ticket === undefined) return undefined;
  ctx.query = rest;
  return typeof ticket === 'string' ? ticket : '';
}

interface TicketUse {
  readonly runId: string;
  readonly ticket: string;
}

/** Unknown, expired and foreign tickets get the same refusal. */
async function principalOf(ctx: Context, tickets: TicketStore, { runId, ticket }: TicketUse): Promise<Principal> {
  const grant = await grantOf(tickets, ticket);
  if (grant?.runId !== runId) throw new ServiceError('Unauthenticated', 'the ticket is not valid');
  ctx.state.byTicket = true;
  return { owner: grant.owner };
}
