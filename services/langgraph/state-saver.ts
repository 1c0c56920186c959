import { BaseCheckpointSaver, copyCheckpoint, type Checkpoint, type CheckpointTuple } from '@langchain/langgraph';
import type { Kept, KeptCheckpoint, KeptWrite, Packed } from './kept.ts';

type Metadata = Parameters<BaseCheckpointSaver['put']>[2];
type Config = Parameters<BaseCheckpointSaver['getTuple']>[0];
type ListOptions = Parameters<BaseCheckpointSaver['list']>[1];
type Writes = Parameters<BaseCheckpointSaver['putWrites']>[1];

interface Write extends Omit<KeptWrite, 'value'> {
  readonly value: unknown;
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

  async load(kept: Kept['checkpoints']): Promise<this> {
    for (const [namespace, { checkpoint, metadata, writes }] of Object.entries(kept)) {
      const saved = {
        checkpoint: (await this.#unpack(checkpoint)) as Checkpoint,
        metadata: (await this.#unpack(metadata)) as Metadata,
      };
      const entry = this.#entryOf(namespace, saved.checkpoint.id);
      entry.saved = saved;
      for (const write of writes) addWrite(entry, { ...write, value: await this.#unpack(write.value) });
    }
    return this;
  }

  /** The latest checkpoints. Those of sub-graphs that ended with their super-step are of no use any more. */
  async keep(): Promise<Kept['checkpoints']> {
    const kept: Record<string, KeptCheckpoint> = {};
    const isAsking = this.questions().length > 0;
    for (const namespace of this.#entries.keys()) {
      const entry = this.#latest(namespace);
      // A namespace with the id of a task ends with that task; others belong to sub-graphs that keep their state.
      if (!entry?.saved || (namespace.includes(':') && !isAsking)) continue;
      const writes: KeptWrite[] = [];
      for (const write of inOrder(entry.writes)) writes.push({ ...write, value: await this.#pack(write.value) });
      const { checkpoint, metadata } = entry.saved;
      kept[namespace] = { checkpoint: await this.#pack(checkpoint), metadata: await this.#pack(metadata), writes };
    }
    return kept;
  }

  /** The value of a channel of the graph at its latest checkpoint. */
  channelValue(channel: string): unknown {
    return this.#latest('')?.saved?.checkpoint.channel_values[channel];
  }

  /** What tasks of the graph ask and have no answer to. A task that has written since has got its answer. */
  questions(): { readonly id: string; readonly value: unknown }[] {
    const writes = [...(this.#latest('')?.writes.values() ?? [])];
    const done = new Set(writes.filter(({ channel }) => !specialChannels.includes(channel)).map(({ task }) => task));
    return writes
      .filter(({ channel, task }) => channel === '__interrupt__' && !done.has(task))
      .flatMap(({ value }) => value as { readonly id: string; readonly value: unknown }[])
      .map(({ id, value }) => ({ id, value: value ?? null }));
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const namespace = namespaceOf(config);
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

  async #pack(value: unknown): Promise<Packed> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (type !== 'json') return { base64: buffer.toString('base64') };
    const json: unknown = JSON.parse(buffer.toString());
    // Of what it cannot write the serializer makes a text that says so.
    if (typeof value === 'object' && value !== null && typeof json === 'string' && !('toJSON' in value))
      throw unwritable(json);
    return { json };
  }

  async #unpack(packed: Packed): Promise<unknown> {
    if ('json' in packed) return this.serde.loadsTyped('json', JSON.stringify(packed.json));
    return this.serde.loadsTyped('bytes', new Uint8Array(Buffer.from(packed.base64, 'base64')));
  }
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
