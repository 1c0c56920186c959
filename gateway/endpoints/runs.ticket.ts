import type { Static } from 'typebox';
import type { RunParams } from '../schemas/runs.ts';
import { makeTicket } from '../tickets/ticket.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';

/** Makes a ticket that lets whoever holds it follow this run, for callers that can send no headers. */
export async function makeRunTicket(
  { owner, params, call }: Ask<Static<typeof RunParams>>,
  { threads, tickets }: Services,
): Promise<string> {
  const runId = params.run_id;
  await threads.getRun({ owner, runId }, call());
  const { text, expiresAt } = await makeTicket(tickets, { owner, runId });
  return JSON.stringify({ ticket: text, expires_at: new Date(expiresAt).toISOString() });
}
