import { RequestError, type Checkpoint } from '@agent-workflow/client';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { FoldedJson } from '../../ui/json-tree/folded-json.tsx';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { StateDiff } from '../../ui/json-tree/state-diff.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { Tabs } from '../../ui/patterns/tabs.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { RunLink } from '../../ui/run-link.tsx';
import { timeText } from '../../ui/time-text.ts';
import { toast } from '../../ui/toasts.tsx';
import { useSignal } from '@preact/signals';
import { keepingText, versionBefore, versionName, versionTitle } from './version-text.ts';

type TabName = 'changes' | 'state';

interface VersionPaneProps {
  readonly id: string;
  /** The version that is open; `undefined` for the thread as it is. */
  readonly at: string | undefined;
  /** The version that it is compared with: the one before unless given; `now` for the thread as it is. */
  readonly from: string | undefined;
  readonly tab: TabName;
  readonly versions: readonly Checkpoint[];
  /** Whether the versions have been read. */
  readonly areVersionsKnown: boolean;
  /** When the thread changed last: the state of now is then read again. */
  readonly turn: unknown;
  readonly onRestored: () => void;
  /** The form that writes a field of the state of now. */
  readonly writing: ComponentChildren;
}

/** What a version changed, its whole state, and the ways on from it. */
export function VersionPane(props: VersionPaneProps) {
  const { id, at, tab, versions, areVersionsKnown, turn, writing } = props;
  const heading = useId();
  const { state, again } = useLoaded<{ readonly state: unknown; readonly checkpoint?: Checkpoint }>(
    (signal) =>
      at === undefined ? client.threads.state(id, { signal }) : client.threads.checkpoint(id, at, { signal }),
    [at ?? turn],
  );
  const { value, error } = state.value;
  const title = useTitleInSight(at !== undefined && (value !== undefined || error !== undefined));
  const isGone = isNotKept(error);
  const version = value?.checkpoint ?? versions.find((each) => each.checkpoint_id === at);
  return (
    <section class="version-pane" aria-labelledby={heading}>
      <div class="version-head">
        <h2 id={heading} ref={title} tabIndex={-1}>
          {at === undefined ? 'State now' : `State at ${version ? versionTitle(version) : `version ${at}`}`}
        </h2>
        {at !== undefined && <Ways {...props} at={at} isGone={isGone} />}
      </div>
      {version && <Origin version={version} />}
      {error !== undefined && !isGone && <Failure error={error} retry={again} />}
      <Tabs
        label="What is shown of the version"
        tabs={[
          { id: 'changes', title: 'Changes' },
          { id: 'state', title: 'Whole state' },
        ]}
        selected={tab}
        onSelect={(chosen) => show({ tab: chosen === 'changes' ? '' : chosen })}
      >
        {!value && error === undefined && <Skeleton rows={5} />}
        {value && tab === 'state' && (
          <>
            {at === undefined && writing}
            <JsonTree label={at === undefined ? 'Values of the state' : 'State at this version'} value={value.state} />
          </>
        )}
        {value && tab === 'changes' && areVersionsKnown && <Comparison {...props} state={value.state} />}
      </Tabs>
    </section>
  );
}

/** Changes parameters of the address; an empty one goes. */
function show(changed: Readonly<Record<string, string>>): void {
  const { view, id, query } = route.peek();
  const next = Object.entries({ ...query, ...changed }).filter(([, value]) => value !== '');
  go({ view, ...(id !== undefined && { id }), query: Object.fromEntries(next) }, { replace: true });
}

/** On a phone the state stands below the list of versions: the reader is brought to it once it is there. */
function useTitleInSight(isThere: boolean) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isThere) return;
    const { top = 0 } = title.current?.getBoundingClientRect() ?? {};
    if (top >= 0 && top < innerHeight / 2) return;
    title.current?.focus({ preventScroll: true });
    title.current?.scrollIntoView({ block: 'start' });
  }, [isThere]);
  return title;
}

const isNotKept = (error: unknown): boolean => error instanceof RequestError && error.status === 404;

interface WaysProps extends VersionPaneProps {
  readonly at: string;
  readonly isGone: boolean;
}

/** The ways on from a version: a new thread, or this one as it was. */
function Ways({ id, at, isGone: isUnreadable, onRestored }: WaysProps) {
  const reason = useId();
  const isAsked = useSignal(false);
  const fork = useAction<[]>(async (signal) => {
    const { thread_id: made } = await client.threads.fork(id, at, { signal });
    go({ view: 'chat', id: made });
  });
  const restoring = useAction<[]>(async (signal) => {
    await client.threads.restore(id, at, { signal });
    isAsked.value = false;
    toast({ text: 'The thread is as it was then. The versions after it stay in the list.' });
    show({ at: '', from: '' });
    onRestored();
  });
  const isGone = isUnreadable || isNotKept(fork.error.value);
  const described = isGone ? reason : undefined;
  return (
    <>
      <div class="version-ways">
        <button
          type="button"
          disabled={isGone || fork.isBusy.value}
          aria-describedby={described}
          onClick={() => fork.start()}
        >
          Fork from here
        </button>
        <button
          type="button"
          class="button-quiet"
          disabled={isGone}
          aria-describedby={described}
          onClick={() => {
            isAsked.value = true;
          }}
        >
          Restore …
        </button>
      </div>
      {isGone && (
        <p class="note" id={reason} role="status">
          This version is not kept any more, so it can neither be read nor forked. {keepingText}
        </p>
      )}
      {fork.error.value !== undefined && !isGone && <ErrorNote error={fork.error.value} />}
      {isAsked.value && (
        <Confirm
          title="Restore this version?"
          verb="Restore it"
          action={restoring}
          isHarmless
          onClose={() => {
            isAsked.value = false;
          }}
        >
          <p>
            State and messages become what they were then, as a new version. The versions since stay, so that this can
            be taken back.
          </p>
        </Confirm>
      )}
    </>
  );
}

function Origin({ version: { created_at: at, run_id: run, metadata } }: { readonly version: Checkpoint }) {
  return (
    <p class="hint">
      made <RelativeTime at={at} isInSentence />
      {run !== null && (
        <>
          {' by '}
          <RunLink id={run} />
        </>
      )}
      {metadata !== null && (
        <>
          {' with metadata '}
          <FoldedJson label="Metadata of the version" value={metadata} />
        </>
      )}
    </p>
  );
}

interface ComparisonProps extends VersionPaneProps {
  readonly state: unknown;
}

/** What this version has changed since another, or what has changed from it until now. */
function Comparison({ id, at, from, versions, state }: ComparisonProps) {
  const newest = versions[0]?.checkpoint_id;
  const place = at ?? newest;
  const other = from ?? (place === undefined ? undefined : versionBefore(versions, place)) ?? '';
  const isListed = other === '' || other === 'now' || versions.some(({ checkpoint_id: each }) => each === other);
  return (
    <>
      <label class="compared">
        Compared with
        <select value={other} onChange={({ currentTarget: { value } }) => show({ from: value })}>
          {other === '' && <option value="">nothing: there is no version before</option>}
          {at !== undefined && <option value="now">the state now</option>}
          {!isListed && <option value={other}>version {other}</option>}
          {versions
            .filter(({ checkpoint_id: each }) => each !== place)
            .map((version) => (
              <option key={version.checkpoint_id} value={version.checkpoint_id}>
                {optionText(version, versions, place)}
              </option>
            ))}
        </select>
      </label>
      {other === '' ? (
        <p class="hint">There is no version before this one, so there is nothing to compare it with.</p>
      ) : (
        <Difference key={other} id={id} at={at} other={other} state={state} />
      )}
    </>
  );
}

function optionText(version: Checkpoint, versions: readonly Checkpoint[], place: string | undefined): string {
  const isBefore = place !== undefined && versionBefore(versions, place) === version.checkpoint_id;
  const name = `${versionName(version)}, ${timeText(version.created_at)}`;
  return isBefore ? `the one before: ${name}` : name;
}

interface DifferenceProps {
  readonly id: string;
  readonly at: string | undefined;
  readonly other: string;
  readonly state: unknown;
}

function Difference({ id, at, other, state }: DifferenceProps) {
  const { state: loaded, again } = useLoaded(
    (signal): Promise<{ readonly state: unknown }> =>
      other === 'now' ? client.threads.state(id, { signal }) : client.threads.checkpoint(id, other, { signal }),
    [],
  );
  const { value, error } = loaded.value;
  if (isNotKept(error)) return <p class="note">The version to compare with is not kept any more. {keepingText}</p>;
  if (error !== undefined) return <Failure error={error} retry={again} />;
  if (!value) return <Skeleton rows={3} />;
  const isLater = other === 'now' || (at !== undefined && Number(other) > Number(at));
  const [before, after] = isLater ? [state, value.state] : [value.state, state];
  return (
    <RawOnFault raw={after}>
      <StateDiff before={before} after={after} />
    </RawOnFault>
  );
}
