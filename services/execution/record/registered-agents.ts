import { nameOfPool } from '@agent-workflow/kit/agents';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { revisionFor } from '@agent-workflow/protos/routing';
import type { AgentCalls, RegisteredAgent, RevisionDefinition } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { shapeOfRegistered, type AgentShape } from './agent-shape.ts';
import { noDefault, noneNamed, unreadableDefinition, type KnownAgents, type RevisionMeant } from './known-agents.ts';

interface RegisteredAgentsOptions {
  readonly threads: Pick<AgentCalls, 'listRegisteredAgents' | 'getRevision'>;
  readonly defaultName: string | undefined;
  readonly log: Pick<Log, 'error'>;
  /** Milliseconds of a clock that only rises. */
  readonly elapsed?: () => number;
}

/** How old what is known of registered agents may be, in milliseconds. */
const keptMs = 2000;
const callTimeoutMs = 10_000;
/** How often a revision that cannot be read is logged, in milliseconds. */
const loggedEveryMs = 10 * 60_000;
const rememberedRevisions = 1000;
/** Definitions that are kept, in bytes of their JSON. */
const keptBytes = 16 * 1024 * 1024;

/**
 * The agents that are registered, for a process without their code. They are read at most once in two seconds, all together: their number
 * is bounded. What a revision looks like never changes, and is kept within a bound of bytes.
 */
export function createRegisteredAgents(options: RegisteredAgentsOptions): KnownAgents {
  const { threads, defaultName, log, elapsed = () => performance.now() } = options;
  const readAll = createSharedRead(async () => {
    const { agents } = await threads.listRegisteredAgents({}, within(callTimeoutMs));
    return new Map(agents.map((agent) => [agent.agent, agent]));
  }, elapsed);
  const isFirst = createFirstOfKind({ silentMs: loggedEveryMs, max: rememberedRevisions, now: elapsed });
  const shapes = createShapes(threads, (err, agent, revision) => {
    if (isFirst(nameOfPool(agent, revision)))
      log.error(
        { err, agent, revision },
        'the registered definition of an agent cannot be read: its requests are refused',
      );
  });

  const find = async (
    name: string | undefined = defaultName,
    { revision, thread }: RevisionMeant = {},
  ): Promise<AgentShape | undefined> => {
    if (name === undefined) return undefined;
    let agent = (await readAll.get()).get(name);
    const isNew =
      revision !== undefined && revision !== '' && !agent?.revisions.some((one) => one.revision === revision);
    if (isNew) {
      readAll.forget();
      agent = (await readAll.get()).get(name);
    }
    if (!agent) return undefined;
    const { routing } = agent;
    const routed = revision ?? (thread ? revisionFor(routing, thread, name) : routing.current) ?? '';
    const row = rowAt(agent, routed);
    if (!row) return undefined;
    const shape = await shapes.get(agent, row);
    if (!shape) throw unreadableDefinition(name, row.revision);
    return { ...shape, checkedRevision: routed };
  };

  return {
    areNamed: true,
    defaultName,
    find,
    list: async () => {
      const found = await Promise.all(
        [...(await readAll.get()).values()].map(async (agent) => {
          const row = rowAt(agent, agent.routing.current);
          return row && shapes.get(agent, row);
        }),
      );
      return found.filter((shape) => shape !== undefined);
    },
    absence: (name = defaultName) => {
      if (name === undefined) return noDefault;
      return noneNamed(name);
    },
  };
}

interface SharedRead<T> {
  readonly get: () => Promise<T>;
  readonly forget: () => void;
}

/** Keeps what was read for {@link keptMs}. Calls at the same time share one read; one that fails is not kept. */
function createSharedRead<T>(read: () => Promise<T>, elapsed: () => number): SharedRead<T> {
  let kept: { readonly at: number; readonly value: Promise<T> } | undefined;
  return {
    get: async () => {
      const now = elapsed();
      if (kept && now - kept.at < keptMs) return kept.value;
      const reading = { at: now, value: read() };
      kept = reading;
      reading.value.catch(() => {
        if (kept === reading) kept = undefined;
      });
      return reading.value;
    },
    forget: () => {
      kept = undefined;
    },
  };
}

type RevisionRow = RegisteredAgent['revisions'][number];

/** The revision of an agent. One that is not registered any more is shown as the newest one. */
const rowAt = ({ revisions }: RegisteredAgent, revision: string | undefined): RevisionRow | undefined =>
  revisions.find((one) => one.revision === revision) ?? revisions.at(-1);

interface Shapes {
  /** `undefined` when what is registered cannot be read. */
  readonly get: (agent: RegisteredAgent, row: RevisionRow) => Promise<AgentShape | undefined>;
}

type OnUnreadable = (error: unknown, agent: string, revision: string) => void;

/** The shapes of revisions, by agent, revision and hash: the hash names all that a shape is made of but the description. */
function createShapes(threads: Pick<AgentCalls, 'getRevision'>, onUnreadable: OnUnreadable): Shapes {
  const kept = new LRUCache<string, { readonly shape: AgentShape; readonly bytes: number }>({
    maxSize: keptBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });
  const underWay = new Map<string, ReturnType<Shapes['get']>>();

  const read = async (
    { agent }: RegisteredAgent,
    { revision }: RevisionRow,
    key: string,
  ): ReturnType<Shapes['get']> => {
    const definition = await threads.getRevision({ agent, revision }, within(callTimeoutMs));
    try {
      const shape = shapeOfRegistered({ name: agent }, definition);
      kept.set(key, { shape, bytes: bytesOf(definition) });
      return shape;
    } catch (error) {
      onUnreadable(error, agent, revision);
      return undefined;
    }
  };

  /** Calls at the same time share one read. */
  const readShared = async (agent: RegisteredAgent, row: RevisionRow, key: string): ReturnType<Shapes['get']> => {
    const reading = underWay.get(key) ?? read(agent, row, key).finally(() => underWay.delete(key));
    underWay.set(key, reading);
    return reading;
  };

  return {
    get: async (agent, row) => {
      const key = JSON.stringify([agent.agent, row.revision, row.schemaHash]);
      const shape = kept.get(key)?.shape ?? (await readShared(agent, row, key));
      return !shape || agent.description === undefined ? shape : { ...shape, description: agent.description };
    },
  };
}

const bytesOf = ({ graphJson, fieldsJson, toolsJson, nodes, codeFields }: RevisionDefinition): number =>
  [graphJson, fieldsJson, toolsJson].reduce((sum, { byteLength }) => sum + byteLength, 0) +
  Buffer.byteLength(JSON.stringify([nodes, codeFields]));
