import { nameOfPool } from '@agent-workflow/kit/agents';
import { unavailable } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import type { Call } from '@agent-workflow/protos/call';
import { misfit } from '@agent-workflow/graph/state/field';
import { shapeForValues, type AgentShape } from '../record/agent-shape.ts';
import { named } from '../record/agents.ts';
import { fromJson } from '../record/json.ts';
import type { CodeCalls, ReducedFields } from '../ports/code-calls.ts';

type Values = Readonly<Record<string, unknown>>;

/** Has a worker of an agent merge values into fields. @throws what the call throws, and Unavailable for a reply that cannot be used. */
export type ReduceByWorker = (agent: AgentShape, values: ReducedValues, call: Call) => Promise<ReducedFields>;

interface ReducedValues {
  readonly current: ReducedFields;
  readonly given: Values;
}

interface ReduceByWorkerOptions {
  readonly codeCalls: Pick<CodeCalls, 'reduce'>;
  readonly log: Pick<Log, 'warn'>;
}

/** How often the replies of a revision are logged that cannot be used, in milliseconds; and how many revisions are remembered. */
const [silentMs, rememberedRevisions] = [10 * 60_000, 1000];

/**
 * A worker may belong to another team, and what it replies is written into the threads of callers. So it decides the fields that have a
 * reducer, with values of their type; the others are written as they were given, as its own checks change nothing.
 */
export function createReduceByWorker({ codeCalls, log }: ReduceByWorkerOptions): ReduceByWorker {
  const isFirst = createFirstOfKind({ silentMs, max: rememberedRevisions });
  return async (agent, { current, given }, call) => {
    const revision = agent.checkedRevision === '' ? undefined : agent.checkedRevision;
    const worker = { agent: agent.name, ...named(undefined, revision) };
    const reply = await codeCalls.reduce({ ...worker, current, given }, call);
    const fault = reply ? faultIn(agent, given, reply) : 'it is no reply';
    if (reply && fault === undefined) return fieldsOf(agent, given, reply);
    const pool = nameOfPool(agent.name, revision);
    if (isFirst(pool)) log.warn({ ...worker, fault }, 'the reply of a worker to a write of state cannot be used');
    throw unavailable(`the reply of a worker of agent "${pool}" to the write cannot be used: try again later`);
  };
}

/** Why a reply cannot be used, without its contents. It has the fields that were given, those of a reducer with a value of their type. */
function faultIn(agent: AgentShape, given: Values, reply: ReducedFields): string | undefined {
  const names = Object.keys(given);
  if (Object.keys(reply).length !== names.length || !names.every((name) => Object.hasOwn(reply, name)))
    return 'it has other fields than were given';
  const values = Object.fromEntries(reducedIn(agent, given).map((name) => [name, fromJson(reply[name] ?? nothing)]));
  const { fields } = shapeForValues(agent, values);
  const wrong = Object.entries(values).find(
    ([name, value]) => fields[name] && misfit(fields[name], value) !== undefined,
  );
  return wrong && `the value of field "${wrong[0]}" does not fit it`;
}

const nothing = new Uint8Array(0);

function fieldsOf(agent: AgentShape, given: Values, reply: ReducedFields): ReducedFields {
  const unchanged = Object.entries(given).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))] as const);
  const reduced = reducedIn(agent, given).map((name) => [name, reply[name] ?? nothing] as const);
  return Object.fromEntries([...unchanged, ...reduced]);
}

const reducedIn = ({ elsewhere }: AgentShape, given: Values): readonly string[] =>
  Object.keys(given).filter((name) => elsewhere.reduced.has(name));
