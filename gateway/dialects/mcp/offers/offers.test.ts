import { ServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import test from 'ava';
import { jsonBytes } from '../../../http/json.ts';
import { findOffer, offersOf } from './offers.ts';

const call = () => within(1000);

/** Agents by name: what a graph offers, or an error in its place. */
function agentsOf(offers: Readonly<Record<string, object | Error>>): Pick<Execution, 'listAgents' | 'getGraph'> {
  return {
    listAgents: () =>
      Promise.resolve({
        agents: Object.keys(offers).map((name) => ({
          name,
          isDefault: false,
          toolsJson: jsonBytes([]),
          revisions: [],
        })),
      }),
    getGraph: ({ agent = '' }) => {
      const offer = offers[agent];
      if (offer instanceof Error) return Promise.reject(offer);
      return Promise.resolve({ graphJson: jsonBytes({ mcp: offer }), fieldsJson: jsonBytes({}) });
    },
  };
}

const tool = (name: string): object => ({ tools: [{ name, inputSchema: { type: 'object' } }] });

test('an agent that cannot be read offers nothing for a second, and the others are there', async (t) => {
  const offers: Record<string, object | Error> = { one: tool('look'), two: new ServiceError('Unavailable', 'away') };
  const agents = agentsOf(offers);
  t.deepEqual([...(await offersOf(agents, call)).tools.keys()], ['look']);
  offers['two'] = tool('press');
  const later = await offersOf(agents, call, { mostMs: 0 });
  t.deepEqual([...later.tools.keys()], ['look', 'press']);
});

test('where no agent can be read, the list fails', async (t) => {
  const agents = agentsOf({ one: new ServiceError('Unavailable', 'away') });
  await t.throwsAsync(offersOf(agents, call), { message: 'away' });
});

test('what a list has not is looked up again at most each second', async (t) => {
  let reads = 0;
  const { getGraph, listAgents } = agentsOf({ one: tool('look') });
  const agents = {
    getGraph,
    listAgents: (...given: Parameters<typeof listAgents>) => {
      reads += 1;
      return listAgents(...given);
    },
  };
  t.truthy(await findOffer(agents, call, ({ tools }) => tools.get('look')));
  for (let time = 0; time < 5; time += 1)
    t.is(await findOffer(agents, call, ({ tools }) => tools.get('none')), undefined);
  t.is(reads, 1);
});
