import { defaultAgent, nameOfPool } from '@agent-workflow/kit/agents';
import { invalid, ServiceError } from '@agent-workflow/kit/errors';
import { LRUCache } from 'lru-cache';
import type { AgentRecords } from '../ports/agents.ts';
import type { Head } from '../ports/record.ts';
import { agentOf } from '../record/head.ts';
import { fromJson } from '../record/json.ts';
import { typeFault } from './field-type.ts';

/**
 * Refuses fields that the revision of the run that holds the thread does not declare, and values of another type than it declares. Any field
 * passes in a run without a revision.
 * @throws Invalid naming the first such field; {@link FieldsToRead} where what is known here does not decide it.
 */
export type RefuseUnfit = (
  fields: Readonly<Record<string, Uint8Array>>,
  head: Pick<Head, 'agent' | 'newestRun' | 'revision'>,
) => void;

/** Which fields revisions declare, as this process knows them. */
export interface DeclaredFields {
  readonly refuseUnfit: RefuseUnfit;
  /** Reads them of one revision, and gives what decides by them, however long that takes. Calls at the same time share one read. */
  readonly read: (agent: string, revision: string) => Promise<RefuseUnfit>;
}

/** The types of fields by their names, as they are registered. */
type Types = ReadonlyMap<string, unknown>;

/** Thrown by a decision: it is made again when the fields of this revision were read. */
export class FieldsToRead extends ServiceError {
  readonly agent: string;
  readonly revision: string;

  constructor(agent: string, revision: string) {
    super('Unavailable', `the fields of agent "${agent}" at revision "${revision}" have to be read first`);
    this.agent = agent;
    this.revision = revision;
  }
}

/** Absent types: the definition is gone, or does not say which fields there are, so that any may be written. */
interface Known {
  readonly types?: Types;
  readonly at: number;
}

/** Names of fields that are kept, in bytes. */
const keptBytes = 4 * 1024 * 1024;
/** What a name and its type take beside its characters, about. */
const bytesBesideName = 64;
/** Before a field is refused, what is known must be at most this old, in milliseconds: a name of a revision may have been given anew. */
const freshMs = 2000;

/**
 * Keeps the fields of each revision, which never change, so that they are read once in each process and not for each step. What a revision
 * lacks is looked for once more, at most once in two seconds.
 */
export function createDeclaredFields(
  store: Pick<AgentRecords, 'getAgent' | 'getDefinition'>,
  elapsed: () => number,
): DeclaredFields {
  const kept = new LRUCache<string, Known>({
    maxSize: keptBytes,
    sizeCalculation: ({ types }) =>
      [...(types?.keys() ?? [])].reduce((sum, name) => sum + name.length * 2 + bytesBesideName, bytesBesideName),
  });
  const underWay = new Map<string, Promise<Known>>();

  const readFields = async (agent: string, revision: string): Promise<Known> => {
    const at = elapsed();
    const row = (await store.getAgent(agent))?.revisions.find((one) => one.revision === revision);
    const definition = row && (await store.getDefinition({ agent, ...row }));
    const types = definition && typesIn(definition.fieldsJson);
    const known = { at, ...(types && { types }) };
    kept.set(nameOfPool(agent, revision), known);
    return known;
  };

  const readShared = (agent: string, revision: string): Promise<Known> => {
    const name = nameOfPool(agent, revision);
    const reading = underWay.get(name) ?? readFields(agent, revision).finally(() => underWay.delete(name));
    underWay.set(name, reading);
    return reading;
  };

  return {
    refuseUnfit: refuseBy((pool) => {
      const known = kept.get(pool);
      return known && { types: known.types, isFresh: elapsed() - known.at <= freshMs };
    }),

    read: async (agent, revision) => {
      const { types } = await readShared(agent, revision);
      const read = nameOfPool(agent, revision);
      return refuseBy((pool) => (pool === read ? { types, isFresh: true } : undefined));
    },
  };
}

interface Found {
  readonly types: Types | undefined;
  /** Whether a field may be refused by it. */
  readonly isFresh: boolean;
}

/** Decides by what `find` knows of the revision `agent@revision`. */
function refuseBy(find: (pool: string) => Found | undefined): RefuseUnfit {
  return (fields, head) => {
    const { revision } = head;
    const written = Object.entries(fields);
    if (written.length === 0 || revision === undefined) return;
    const agent = agentOf(head) ?? defaultAgent;
    const found = find(nameOfPool(agent, revision));
    if (!found) throw new FieldsToRead(agent, revision);
    const { types, isFresh } = found;
    if (!types) return;
    for (const [name, json] of written) {
      const fault = types.has(name) ? typeFault(types.get(name), json) : undeclared;
      if (!fault) continue;
      if (!isFresh) throw new FieldsToRead(agent, revision);
      throw invalid(['fields', name], fault.msg, fault.type);
    }
  };
}

const undeclared = { msg: 'is not a field of the state', type: 'unknown_field' };

const summary = 'context_summary';

/** The types of the fields that steps may write, by the JSON of a definition: the context is no such field. Every graph has a summary. */
function typesIn(fieldsJson: Uint8Array): Types | undefined {
  const fields = readFields(fieldsJson);
  if (!Object.hasOwn(fields, summary)) return undefined;
  const { context: _, ...declared } = fields;
  return new Map(Object.entries(declared).map(([name, spec]) => [name, typeOf(spec)]));
}

const typeOf = (spec: unknown): unknown =>
  typeof spec === 'object' && spec !== null && 'type' in spec ? spec.type : undefined;

function readFields(fieldsJson: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return (fromJson(fieldsJson) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
