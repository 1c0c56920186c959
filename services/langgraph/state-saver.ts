import {
  BaseCheckpointSaver,
  copyCheckpoint,
  emptyCheckpoint,
  type Checkpoint,
  type CheckpointTuple,
} from '@langchain/langgraph';
import type { KeptWrite } from './kept.ts';

type Metadata = Parameters<BaseCheckpointSaver['put']>[2];
type Config = Parameters<BaseCheckpointSaver['getTuple']>[0];
type ListOptions = Parameters<BaseCheckpointSaver['list']>[1];
type Writes = Parameters<BaseCheckpointSaver['putWrites']>[1];

type Write = KeptWrite;

interface LoadedCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly metadata: Metadata;
  readonly writes: readonly Write[];
}

interface Entry {
  saved?: { readonly checkpoint: Checkpoint; readonly metadata: Metadata };
  /** By task, and by the index of the write or the name of a special channel. */
  readonly writes: Map<string, Write>;
}

/** What is written beside the values of a task: a later write of the same task replaces it. */
const specialChannels: readonly string[] = ['__error__', '__scheduled__', '__interrupt__', '__resume__'];

/**
 * LangGraph's checkpointer for one super-step: begins with what the state keeps, and gives what the state keeps next. It holds values as
 * they are, and serializes only the latest checkpoint of each namespace, once.
 */
export class StateSaver extends BaseCheckpointSaver {
  /** By namespace, then by the id of the checkpoint. The latest stands last. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  /** Whether the super-step goes on where it asked. */
  isAnswered = false;

  /** Takes the checkpoints that {@link keep} gave, in the form that they have between `unfold` and `fold`. */
  async load(kept: unknown, unfold: (value: unknown) => unknown = same): Promise<this> {
    const checkpoints = unfold(await unpack(this.serde, kept)) as Readonly<Record<string, LoadedCheckpoint>>;
    for (const [namespace, { checkpoint, metadata, writes }] of Object.entries(checkpoints)) {
      const entry = this.#entryOf(namespace, checkpoint.id);
      entry.saved = { checkpoint, metadata };
      for (const write of writes) addWrite(entry, write);
    }
    return this;
  }

  /**
   * The latest checkpoints as JSON, without the channels of the graph that are `omitted`. Those of sub-graphs that ended with their super-step are of
   * no use any more.
   */
  async keep(omitted: ReadonlySet<string> = new Set(), fold: (value: unknown) => unknown = same): Promise<unknown> {
    const kept: Record<string, LoadedCheckpoint> = {};
    const isAsking = this.questions().length > 0;
    for (const namespace of this.#entries.keys()) {
      const entry = this.#latest(namespace);
      if (!entry?.saved || (isOfTask(namespace) && !isAsking)) continue;
      const { checkpoint, metadata } = entry.saved;
      kept[namespace] = {
        checkpoint: namespace === '' ? withoutChannels(checkpoint, omitted) : checkpoint,
        ...{ metadata, writes: inOrder(entry.writes) },
      };
    }
    return pack(this.serde, fold(kept));
  }

  /** Adds values of channels to the latest checkpoint of the graph. */
  addValues(values: Readonly<Record<string, unknown>>): void {
    const saved = this.#latest('')?.saved;
    if (saved) Object.assign(saved.checkpoint.channel_values, values);
  }

  /**
   * Puts a checkpoint with these values, at which the graph takes new input: what was under way is dropped, and the nodes have seen all that was
   * written before. `triggers` are the channels that begin each node; those that last hold their values from one input to the next, and so do
   * sub-graphs that keep their state.
   */
  begin(
    values: Readonly<Record<string, unknown>>,
    { triggers, lasts }: { readonly triggers: Triggers; readonly lasts: (channel: string) => boolean },
  ): void {
    const last = this.#latest('')?.saved;
    const { id, ts, v, ...empty } = emptyCheckpoint();
    const before = last?.checkpoint ?? empty;
    const versions = before.channel_versions as Record<string, number>;
    const version = Math.max(0, ...Object.values(versions)) + 1;
    const seen = Object.fromEntries(
      [...triggers].map(([node, names]) => [
        node,
        {
          ...before.versions_seen[node],
          ...Object.fromEntries(names.flatMap((name) => (name in versions ? [[name, versions[name] ?? 0]] : []))),
        },
      ]),
    );
    const lasting = Object.entries(before.channel_values).filter(([name]) => lasts(name));
    const checkpoint: Checkpoint = {
      ...{ id, ts, v },
      channel_values: { ...Object.fromEntries(lasting), ...values, [start]: {} },
      channel_versions: { ...versions, [start]: version },
      versions_seen: { ...before.versions_seen, ...seen },
    };
    const step = (last?.metadata.step ?? -2) + 1;
    for (const namespace of [...this.#entries.keys()])
      if (namespace === '' || isOfTask(namespace)) this.#entries.delete(namespace);
    this.#entryOf('', id).saved = { checkpoint, metadata: { source: 'input', step, parents: {} } };
  }

  /** What each task wrote to channels, before the latest checkpoint. */
  written(): readonly Write[] {
    const entries = [...(this.#entries.get('')?.values() ?? [])];
    return entries.slice(0, -1).flatMap(({ writes }) => inOrder(writes));
  }

  /** What tasks wrote to channels since the latest checkpoint. */
  pending(): readonly Write[] {
    const entry = this.#latest('');
    return entry ? inOrder(entry.writes) : [];
  }

  /** The tasks that have returned since the latest checkpoint. */
  returned(): ReadonlySet<string> {
    return new Set(this.pending().flatMap(({ channel, task }) => (specialChannels.includes(channel) ? [] : [task])));
  }

  /** The value of a channel of the graph at its latest checkpoint. */
  channelValue(channel: string): unknown {
    return this.#latest('')?.saved?.checkpoint.channel_values[channel];
  }

  /** Whether a channel of the graph has a value, which may be `undefined`. */
  hasValue(channel: string): boolean {
    return Object.hasOwn(this.#latest('')?.saved?.checkpoint.channel_values ?? {}, channel);
  }

  /** What tasks of the graph ask and have no answer to. A task that has written since has got its answer. */
  questions(): { readonly id: string; readonly task: string; readonly value: unknown }[] {
    const writes = [...(this.#latest('')?.writes.values() ?? [])];
    const done = new Set(writes.filter(({ channel }) => !specialChannels.includes(channel)).map(({ task }) => task));
    return writes
      .filter(({ channel, task }) => channel === '__interrupt__' && !done.has(task))
      .flatMap(({ task, value }) =>
        (value as { readonly id: string; readonly value: unknown }[]).map((one) => ({ ...one, task })),
      )
      .map(({ id, task, value }) => ({ id, task, value: value ?? null }));
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const namespace = namespaceOf(config);
    if (namespace !== '' && !isOfTask(namespace) && !this.isAnswered) beginAnew(config);
    const id: unknown = config.configurable?.['checkpoint_id'];
    const entry = typeof id === 'string' ? this.#entries.get(namespace)?.get(id) : this.#latest(namespace);
    return entry && toTuple(config, entry);
  }

  override async *list(
    config: Config,
    { limit = Infinity, before }: ListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const end: unknown = before?.configurable?.['checkpoint_id'];
    let left = limit;
    for (const [id, entry] of [...(this.#entries.get(namespaceOf(config)) ?? [])].toReversed()) {
      const tuple = toTuple(config, entry);
      if (!tuple || (typeof end === 'string' && id >= end)) continue;
      if (left-- <= 0) return;
      yield tuple;
    }
  }

  override async put(config: Config, checkpoint: Checkpoint, metadata: Metadata): Promise<Config> {
    const namespace = namespaceOf(config);
    const entry = this.#entryOf(namespace, checkpoint.id);
    entry.saved = { checkpoint: copyCheckpoint(checkpoint), metadata };
    // It is the latest, even when a write to it came before it.
    const entries = this.#entries.get(namespace);
    entries?.delete(checkpoint.id);
    entries?.set(checkpoint.id, entry);
    return configOf(config, checkpoint.id);
  }

  override async putWrites(config: Config, writes: Writes, task: string, path = ''): Promise<void> {
    const id: unknown = config.configurable?.['checkpoint_id'];
    if (typeof id !== 'string') throw new Error('putWrites needs a checkpoint_id');
    const entry = this.#entryOf(namespaceOf(config), id);
    writes.forEach(([channel, value], index) => {
      const special = specialChannels.indexOf(channel);
      addWrite(entry, { task, path, channel, value, index: special === -1 ? index : -1 - special });
    });
  }

  override async deleteThread(): Promise<void> {
    this.#entries.clear();
  }

  #entryOf(namespace: string, id: string): Entry {
    const entries = this.#entries.get(namespace) ?? new Map<string, Entry>();
    this.#entries.set(namespace, entries);
    const entry = entries.get(id) ?? { writes: new Map<string, Write>() };
    entries.set(id, entry);
    return entry;
  }

  #latest(namespace: string): Entry | undefined {
    return [...(this.#entries.get(namespace)?.values() ?? [])].findLast(({ saved }) => saved !== undefined);
  }
}

type Triggers = ReadonlyMap<string, readonly string[]>;

const same = (value: unknown): unknown => value;

/**
 * Lets a sub-graph that has ended, and keeps its state, take its input. LangGraph has it go on, because each of our super-steps goes on with
 * the graph.
 */
function beginAnew({ configurable = {} }: Config): void {
  if ('__pregel_resuming' in configurable) configurable['__pregel_resuming'] = false;
}

/** A namespace with the id of a task ends with that task; others belong to sub-graphs that keep their state. */
const isOfTask = (namespace: string): boolean => namespace.includes(':');

/** The channel of a graph's input. */
const start = '__start__';

function withoutChannels(checkpoint: Checkpoint, omitted: ReadonlySet<string>): Checkpoint {
  const values = Object.entries(checkpoint.channel_values).filter(([name]) => !omitted.has(name));
  return { ...checkpoint, channel_values: Object.fromEntries(values) };
}

type Serializer = BaseCheckpointSaver['serde'];

/** A value as JSON, in which LangChain's objects have a form of their own. @throws Error for a value that the serializer cannot write. */
export async function pack(serde: Serializer, value: unknown): Promise<unknown> {
  const [, bytes] = await serde.dumpsTyped({ value });
  const json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown;
  // Of what it cannot write the serializer makes a text that says so.
  if (typeof json !== 'object' || json === null || !('value' in json)) throw unwritable(String(json));
  return json.value;
}

/** The value of which {@link pack} made this. */
export async function unpack(serde: Serializer, json: unknown): Promise<unknown> {
  const { value } = (await serde.loadsTyped('json', JSON.stringify({ value: json }))) as { readonly value: unknown };
  return value;
}

const unwritable = (why: string): Error =>
  new Error(
    `the graph's state holds a value that LangGraph cannot serialize, such as a bigint: ${why.slice(0, maxWhy)}`,
  );
const maxWhy = 200;

/** Values that a task wrote before stay: a task that runs again writes the same. */
function addWrite({ writes }: Entry, write: Write): void {
  const key = `${write.task} ${write.index}`;
  if (write.index < 0 || !writes.has(key)) writes.set(key, write);
}

/** In the order in which LangGraph applies them: by path and task, as code points compare, then by index. */
function inOrder(writes: Entry['writes']): Write[] {
  return [...writes.values()].toSorted(
    (one, other) => compare(one.path, other.path) || compare(one.task, other.task) || one.index - other.index,
  );
}

const compare = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

function toTuple(config: Config, { saved, writes }: Entry): CheckpointTuple | undefined {
  return (
    saved && {
      config: configOf(config, saved.checkpoint.id),
      checkpoint: copyCheckpoint(saved.checkpoint),
      metadata: saved.metadata,
      pendingWrites: inOrder(writes).map(({ task, channel, value }) => [task, channel, value]),
    }
  );
}

function namespaceOf({ configurable }: Config): string {
  const namespace: unknown = configurable?.['checkpoint_ns'];
  return typeof namespace === 'string' ? namespace : '';
}

const configOf = (config: Config, id: string): Config => ({
  configurable: {
    thread_id: config.configurable?.['thread_id'] as unknown,
    checkpoint_ns: namespaceOf(config),
    checkpoint_id: id,
  },
});
