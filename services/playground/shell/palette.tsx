import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useLoaded } from '../session/loaded.ts';
import { shortcuts } from '../session/keys.ts';
import { signsOf } from '../session/key-names.ts';
import { go } from '../session/route.ts';
import { client } from '../session/session.ts';
import { serviceNow } from '../session/clock.ts';
import { timeAgo } from '../ui/relative-time.ts';
import { Modal } from '../ui/modal.tsx';
import { isPaletteOpen } from './dialogs.ts';
import { findEntries, soughtIn, distinguished, type Entry } from './find-entries.ts';
import { places } from './places.ts';
import { isMac } from './platform.ts';

/** How many of the newest threads and runs it offers, of each, and how many of those that the service finds. */
const recent = 20;
const mostFound = 50;

/** How long a reader who types is waited for, in milliseconds. */
const typingMs = 250;

/** Finds views, actions, recent threads and runs by what is typed, and opens or does the chosen one. */
export function Palette() {
  const text = useSignal('');
  const at = useSignal(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const { state: newest } = useLoaded((signal) => readThings({ limit: recent }, signal), []);
  const { state: sought, isTyping } = useSought(text.value);
  const things = [...(newest.value.value ?? []), ...(sought.value.value ?? [])];
  const found = distinguished(findEntries([...placeEntries(), ...actionEntries(), ...byId(things)], text.value));
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    close();
    entry.run();
  };
  useEffect(() => list.current?.children[at.value]?.scrollIntoView({ block: 'nearest' }), [at.value]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) at.value = Math.max(0, Math.min(found.length - 1, at.value + by));
    else if (event.key === 'Enter' && !event.isComposing) choose(found[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Modal title="Find or do" class="palette" onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Find or do"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${String(at.value)}` : undefined}
        autocomplete="off"
        placeholder="A view, an action, a thread, a run"
        autofocus
        onKeyDown={onKeyDown}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
      />
      <ul id={id} role="listbox" aria-label="Found" ref={list}>
        {found.map((entry, index) => (
          <li
            key={`${entry.kind} ${entry.text} ${String(index)}`}
            id={`${id}-${String(index)}`}
            role="option"
            aria-selected={index === at.value}
            onClick={() => choose(entry)}
          >
            <span dir="auto">{entry.text}</span>
            {entry.keys !== undefined && <kbd>{signsOf(entry.keys, isMac).join(' ')}</kbd>}
            <span class="entry-kind">{entry.kind}</span>
            {entry.facts !== undefined && <span class="entry-facts">{entry.facts}</span>}
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p role="status">{isTyping || sought.value.isLoading ? 'Looking …' : 'Nothing here has these words.'}</p>
      )}
    </Modal>
  );
}

const placeEntries = (): Entry[] => [
  ...places().map(({ view, title, key }): Entry => ({
    ...{ text: title, kind: 'Go to', keys: `g ${key}` },
    run: () => go({ view }),
  })),
  { text: 'Docs', kind: 'Go to', run: () => location.assign('/docs') },
];

/** Each thing once, though the newest may also have been found. */
const byId = (things: readonly Entry[]): readonly Entry[] => [
  ...new Map(things.map((entry) => [`${entry.kind} ${entry.id ?? ''}`, entry])).values(),
];

/** The threads and runs that the service finds by what is typed, once the reader has paused. */
function useSought(text: string) {
  const sought = useSignal('');
  const word = soughtIn(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      sought.value = word;
    }, typingMs);
    return () => clearTimeout(timer);
  }, [word]);
  const { state } = useLoaded(
    (signal) =>
      sought.value === '' ? Promise.resolve([]) : readThings({ limit: mostFound, search: sought.value }, signal),
    [sought.value],
  );
  return { state, isTyping: sought.value !== word };
}

const actionEntries = (): Entry[] =>
  shortcuts.value
    .filter(({ isAction }) => isAction === true)
    .map(({ text, keys, run }) => ({ text, kind: 'Do', run: () => void run(), ...(keys !== '' && { keys }) }));

/** The newest threads and runs, or those with a text. What cannot be read is not offered: the views say why. */
async function readThings(
  query: { readonly limit: number; readonly search?: string },
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  const [threads, runs] = await Promise.allSettled([
    client.threads.list(query, { signal }),
    client.runs.list(query, { signal }),
  ]);
  const now = serviceNow();
  const facts = (agent: string | null | undefined, at: unknown): string =>
    [agent, timeAgo(Date.parse(String(at)), now)].filter(Boolean).join(', ');
  return [
    ...(threads.status === 'fulfilled' ? threads.value.threads : []).map(
      ({ thread_id: id, title, agent, updated_at: at }): Entry => ({
        ...{ id, text: title ?? id, kind: 'Thread', facts: facts(agent, at) },
        run: () => go({ view: 'threads', id }),
      }),
    ),
    ...(runs.status === 'fulfilled' ? runs.value.runs : []).map(
      ({ run_id: id, status, agent, thread_title: title, created_at: at }): Entry => ({
        ...{ id, text: title ?? `${agent ?? 'run'} ${id}`, kind: `Run, ${status}`, facts: facts(agent, at) },
        run: () => go({ view: 'runs', id }),
      }),
    ),
  ];
}
