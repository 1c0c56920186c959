import type { Memory } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useLoaded } from '../../session/loaded.ts';
import { go, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { writtenOf } from '../../session/written.ts';
import { Icon } from '../../ui/icon.tsx';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Menu } from '../../ui/patterns/menu.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { Plain } from '../../ui/plain.tsx';
import { exactTime } from '../../ui/time-text.ts';
import { useTitle } from '../../ui/title.ts';
import { forgetLater, isForgotten } from './forgotten.ts';
import type { FoundMemories } from './found-memories.ts';
import { MarkedText } from './marked-text.tsx';
import type { MemoryPlace } from './memory-address.ts';
import { MemoryForm } from './memory-form.tsx';
import { memoryTypes } from './memory-shapes.ts';
import { isHeading, titleOfMemory } from './memory-words.ts';
import { metPlaces, type SoughtWords } from './met-words.ts';
import { WhyFound } from './why-found.tsx';

type Query = Readonly<Record<string, string>>;

interface MemoryPaneProps {
  readonly id: string;
  /** As a list has it; absent where it is in none. */
  readonly listed: Memory | undefined;
  /** The selection of the list. */
  readonly query: Query;
  readonly place: MemoryPlace;
  readonly found: FoundMemories;
  /** Called with the memory as it is after a change. */
  readonly onChanged: (changed: Memory) => void;
}

/** One memory: what it says, why it was found, where it comes from, and its metadata. */
export function MemoryPane({ id, listed, query, place, found, onChanged }: MemoryPaneProps) {
  const { state, again } = useLoaded(async (signal) => {
    const reply = await client.memories.get(id, { signal, scope: place.selection.scope });
    return { memory: reply.memory, text: writtenOf(reply) };
  }, []);
  const { value, error, isLoading } = state.value;
  const memory = value?.memory ?? listed;
  const backHref = toHash({ view: 'memory', query });
  const title = memory ? titleOfMemory(memory) : id;
  const isGone = isForgotten(id);
  useTitle(isGone ? 'Memory' : title);
  if (isGone)
    return (
      <DetailPane label="Memory" crumb="Memory" backHref={backHref} title="This memory is forgotten">
        <p class="hint">It can be taken back as long as the notice stands.</p>
      </DetailPane>
    );
  const sought = place.search === '' ? undefined : found.sought;
  return (
    <DetailPane
      label="Memory"
      crumb="Memory"
      backHref={backHref}
      id={id}
      title={memory ? <Heading {...{ memory, sought }} /> : id}
      actions={
        memory && (
          <Actions
            {...{ memory, query }}
            read={value}
            onChanged={(changed) => {
              again();
              onChanged(changed);
            }}
          />
        )
      }
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      {memory === undefined && isLoading && <Skeleton rows={5} />}
      {memory && (
        <>
          {!isHeading(memory) && <Content text={memory.content} sought={sought} />}
          {sought && <WhyFound {...{ id, place, found }} content={memory.content} />}
          <Source memory={memory} />
          <Metadata memory={memory} text={value?.text} />
        </>
      )}
    </DetailPane>
  );
}

interface HeadingProps {
  readonly memory: Memory;
  /** What is marked in it. */
  readonly sought: SoughtWords | undefined;
}

/** The text itself; of a long one, which stands below, a heading for who does not see it. */
function Heading({ memory, sought }: HeadingProps) {
  if (!isHeading(memory)) return <span class="unseen">{titleOfMemory(memory)}</span>;
  const text = memory.content.trim();
  return (
    <span class="memory-heading">
      <MarkedText text={text} places={sought ? metPlaces(text, sought) : []} />
    </span>
  );
}

/** The text of a memory that is too long for a heading. */
function Content({ text, sought }: { readonly text: string; readonly sought: SoughtWords | undefined }) {
  return (
    <section class="memory-content" aria-label="Content" dir="auto">
      <Plain
        text={text}
        {...(sought && { draw: (part: string) => <MarkedText text={part} places={metPlaces(part, sought)} /> })}
      />
    </section>
  );
}

/** Where a memory comes from, and until when it is there. */
function Source({ memory }: { readonly memory: Memory }) {
  const { memory_type: type, category, timestamp, expires_at: expiresAt, thread_id: thread, scope } = memory;
  return (
    <section aria-label="Where it comes from">
      <h2>Where it comes from</h2>
      <dl class="memory-source">
        {scope !== undefined && (
          <div>
            <dt>Scope</dt>
            <dd>
              <a href={toHash({ view: 'memory', query: { scope } })}>{scope}</a>
            </dd>
          </div>
        )}
        {thread !== '' && (
          <div>
            <dt>Thread</dt>
            <dd>
              <ThreadLinks id={thread} />
            </dd>
          </div>
        )}
        <div>
          <dt>Time</dt>
          <dd>
            <span title={timestamp}>{exactTime(Date.parse(timestamp))}</span>
            <span class="hint">
              {' '}
              <RelativeTime at={timestamp} isInSentence /> · stored or last changed, unless it was given
            </span>
          </dd>
        </div>
        {expiresAt !== undefined && (
          <div>
            <dt>Goes</dt>
            <dd>{exactTime(Date.parse(expiresAt))}</dd>
          </div>
        )}
        <div>
          <dt>Kind</dt>
          <dd>
            <a href={toHash({ view: 'memory', query: { type } })}>{type}</a>
            <span class="hint"> {memoryTypes[type]}</span>
          </dd>
        </div>
        <div>
          <dt>Category</dt>
          <dd>{category ? <a href={toHash({ view: 'memory', query: { category } })}>{category}</a> : 'none'}</dd>
        </div>
      </dl>
    </section>
  );
}

/** The conversation that a memory was stored in, by its title. */
function ThreadLinks({ id }: { readonly id: string }) {
  const { state } = useLoaded((signal) => client.threads.get(id, { signal }), [id]);
  return (
    <>
      <a href={toHash({ view: 'chat', id })} dir="auto">
        {state.value.value?.title ?? id}
      </a>
      <span class="hint">
        {' '}
        · <a href={toHash({ view: 'threads', id })}>its state</a> ·{' '}
        <a href={toHash({ view: 'memory', query: { thread: id } })}>its memories</a>
      </span>
    </>
  );
}

/** The metadata, as it is written. */
function Metadata({ memory, text }: { readonly memory: Memory; readonly text: string | undefined }) {
  const { metadata } = memory;
  return (
    <section aria-label="Metadata">
      <h2>Metadata</h2>
      {Object.keys(metadata).length === 0 ? (
        <p class="hint">It has none.</p>
      ) : (
        <JsonTree label="Metadata" value={metadata} text={text} at={['data', 'memory', 'metadata']} />
      )}
    </section>
  );
}

/** A longer text is not searched for. */
const maxSearched = 500;

interface ActionsProps {
  readonly memory: Memory;
  /** As it was read by itself; absent until it is: what a list has may be older, and is not edited. */
  readonly read: { readonly memory: Memory; readonly text: string | undefined } | undefined;
  readonly query: Query;
  readonly onChanged: (changed: Memory) => void;
}

function Actions({ memory, read, query, onChanged }: ActionsProps) {
  const isEdited = useSignal(false);
  const close = (): void => {
    isEdited.value = false;
  };
  const forget = (): void => {
    forgetLater(memory, query);
    go({ view: 'memory', query });
  };
  const like = { search: memory.content.slice(0, maxSearched).trim(), by: 'similarity' };
  return (
    <>
      <button type="button" class="button-quiet" disabled={!read} onClick={() => void (isEdited.value = true)}>
        <Icon name="edit" />
        Edit
      </button>
      <Menu
        label="More actions"
        items={[
          { text: 'Find others like it', onSelect: () => go({ view: 'memory', id: memory.id, query: like }) },
          { text: 'Forget', isDanger: true, onSelect: forget },
        ]}
      />
      {isEdited.value && read && (
        <MemoryForm
          memory={read.memory}
          reply={read.text}
          onClose={close}
          onSaved={(_, changed) => {
            if (changed) onChanged(changed);
          }}
        />
      )}
    </>
  );
}
