import { ServiceError } from '@agent-workflow/kit/errors';
import type { Row } from '../http/endpoint.ts';
import type { Authenticate } from '../http/access.ts';
import type { Context } from '../http/context.ts';
import type { Principal } from '../http/principal.ts';
import type { TicketStore } from './port.ts';
import { admissionOf } from './ticket.ts';

export interface HoldersOptions {
  readonly endpoints: readonly Row[];
  readonly tickets: TicketStore;
  /** Judges every request that is not let in by a ticket. */
  readonly authenticate: Authenticate;
}

/**
 * Lets in whoever brings a ticket for the run whose stream is asked for. A request with an `Authorization` header is
 * judged by that alone, so that a ticket mends no credentials that are refused. The ticket is taken out of the address:
 * whatever logs or tells the address from here on cannot tell the ticket.
 */
export function withTickets({ endpoints, tickets, authenticate }: HoldersOptions): Authenticate {
  const paths = endpoints.filter(({ takesTicket }) => takesTicket).map(({ path }) => aroundRunId(path));
  return (ctx) => {
    const runId = ctx.method === 'GET' ? runIdIn(ctx.path, paths) : undefined;
    const ticket = runId === undefined ? undefined : takeTicket(ctx);
    if (runId === undefined || ticket === undefined || ctx.req.headers.authorization !== undefined)
      return authenticate(ctx);
    return admit(ctx, tickets, { runId, ticket });
  };
}

/** What stands before and behind the run's id in a path. */
type Around = readonly [before: string, behind: string];

function aroundRunId(path: string): Around {
  const [before = '', behind = ''] = path.split('{run_id}');
  return [before, behind];
}

function runIdIn(path: string, paths: readonly Around[]): string | undefined {
  const around = paths.find(([before, behind]) => path.startsWith(before) && path.endsWith(behind));
  if (!around) return undefined;
  const runId = path.slice(around[0].length, path.length - around[1].length);
  return runId === '' || runId.includes('/') ? undefined : decodeURIComponent(runId);
}

/** The `ticket` of the query; of a request that brings several, none holds. */
function takeTicket(ctx: Context): string | undefined {
  const { ticket, ...rest } = ctx.query;
  if (ticket === undefined) return undefined;
  ctx.query = rest;
  return typeof ticket === 'string' ? ticket : '';
}

interface Held {
  readonly runId: string;
  readonly ticket: string;
}

/** Unknown, expired and foreign tickets are not told apart. */
async function admit(ctx: Context, tickets: TicketStore, { runId, ticket }: Held): Promise<Principal> {
  const admission = await admissionOf(tickets, ticket);
  if (admission?.runId !== runId) throw new ServiceError('Unauthenticated', 'the ticket does not hold');
  ctx.state.byTicket = true;
  return { owner: admission.owner };
}
