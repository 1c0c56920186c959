import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { revisionFor } from '@agent-workflow/protos/routing';
import type { AgentCalls, RegisteredAgent, RevisionDefinition } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { shapeOfRegistered, type AgentShape } from './agent-shape.ts';
import { noDefault, noneNamed, type KnownAgents, type RevisionMeant } from './known-agents.ts';

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
/** How often an agent that cannot be read is logged, in milliseconds. */
const loggedEveryMs = 10 * 60_000;
const rememberedAgents = 1000;
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
  const shapes = createShapes(threads);
  const isFirst = createFirstOfKind({ silentMs: loggedEveryMs, max: rememberedAgents, now: elapsed });

  /** The agent at a revision. One that is not registered any more is shown as the newest one. */
  const atRevision = async (agent: RegisteredAgent, revision: string | undefined): Promise<AgentShape | undefined> => {
    const { revisions } = agent;
    const row = revisions.find((one) => one.revision === revision) ?? revisions.at(-1);
    return row && (await shapes.get(agent, row));
  };

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
    const shape = await atRevision(agent, routed);
    return shape && { ...shape, checkedRevision: routed };
  };

  return {
    areNamed: true,
    defaultName,
    find,
    list: async () => {
      const agents = [...(await readAll.get()).values()];
      const found = await Promise.all(
        agents.map(async (agent) =>
          atRevision(agent, agent.routing.current).catch((error: unknown) => {
            if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
            if (isFirst(agent.agent))
              log.error(
                { err: error, agent: agent.agent },
                'an agent is left out of the list: its definition cannot be read',
              );
            return undefined;
          }),
        ),
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

interface Shapes {
  readonly get: (agent: RegisteredAgent, row: RevisionRow) => Promise<AgentShape>;
}

/** The shapes of revisions, by agent, revision and hash: the hash names all that a shape is made of but the description. */
function createShapes(threads: Pick<AgentCalls, 'getRevision'>): Shapes {
  const kept = new LRUCache<string, { readonly shape: AgentShape; readonly bytes: number }>({
    maxSize: keptBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });
  const underWay = new Map<string, Promise<AgentShape>>();

  const read = async ({ agent }: RegisteredAgent, { revision }: RevisionRow, key: string): Promise<AgentShape> => {
    const definition = await threads.getRevision({ agent, revision }, within(callTimeoutMs));
    const shape = shapeOfRegistered({ name: agent }, definition);
    kept.set(key, { shape, bytes: bytesOf(definition) });
    return shape;
  };

  /** Calls at the same time share one read. */
  const readShared = async (agent: RegisteredAgent, row: RevisionRow, key: string): Promise<AgentShape> => {
    const reading = underWay.get(key) ?? read(agent, row, key).finally(() => underWay.delete(key));
    underWay.set(key, reading);
    return reading;
  };

  return {
    get: async (agent, row) => {
      const key = JSON.stringify([agent.agent, row.revision, row.schemaHash]);
      const shape = kept.get(key)?.shape ?? (await readShared(agent, row, key));
      return agent.description === undefined ? shape : { ...shape, description: agent.description };
    },
  };
}

const bytesOf = ({ graphJson, fieldsJson, toolsJson, nodes, codeFields }: RevisionDefinition): number =>
  [graphJson, fieldsJson, toolsJson].reduce((sum, { byteLength }) => sum + byteLength, 0) +
  Buffer.byteLength(JSON.stringify([nodes, codeFields]));
