import { NoInput, RunParams, RunTicket } from '../../schemas/runs.ts';
import { makeTicket } from '../../../../tickets/index.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/** Makes a ticket, with which callers that cannot send headers follow this run. */
export const makeRunTicket = endpoint({
  name: 'makeRunTicket',
  tag: 'runs',
  summary: 'Make a ticket with which the run is followed without other credentials, for ten minutes',
  description:
    'For `EventSource` in browsers, which sends no headers: `GET /v1/runs/{run_id}/stream?ticket=…` follows this run, any number of times within ten minutes.',
  example: examples.makeRunTicket,
  method: 'POST',
  path: '/v1/runs/{run_id}/ticket',
  access: { resource: 'graph', action: 'stream' },
  secret: true,
  params: RunParams,
  input: NoInput,
  reply: RunTicket,
  handle: async ({ owner, params, call }, { threads, tickets }) => {
    const runId = params.run_id;
    await threads.getRun({ owner, runId }, call());
    const { text, expiresAt } = await makeTicket(tickets, { owner, runId });
    return JSON.stringify({ ticket: text, expires_at: new Date(expiresAt).toISOString() });
  },
});
