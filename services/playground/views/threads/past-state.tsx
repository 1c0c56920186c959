import { RequestError, type Checkpoint } from '@agent-workflow/client';
import { useEffect, useId, useRef, useMemo } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { FoldedJson } from '../../ui/folded-json.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { RunLink } from '../../ui/run-link.tsx';
import { Time, timeText } from '../../ui/time.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { keepingText, versionBefore, versionName } from './version-text.ts';
import { counted, grouped } from '../../ui/format.ts';
import { diff, pathText, type Change } from './diff.ts';

interface PastStateProps {
  readonly id: string;
  /** The checkpoint whose state is shown. */
  readonly at: string;
  /** The checkpoint that it is compared with: the one before unless given; `now` for the state as it is. */
  readonly from: string | undefined;
  readonly versions: readonly Checkpoint[];
}

/** The state at a version, what is different from another, and the way to go on from there in a new thread. */
export function PastState({ id, at, from, versions }: PastStateProps) {
  const heading = useId();
  const reason = useId();
  const { state, again } = useLoaded((signal) => client.threads.checkpoint(id, at, { signal }), []);
  const fork = useAction<[]>(async (signal) => {
    const { thread_id: made } = await client.threads.fork(id, at, { signal });
    go({ view: 'chat', id: made });
  });
  const { value, error } = state.value;
  const title = useTitleInSight(value !== undefined || error !== undefined);
  const isGone = isNotKept(error) || isNotKept(fork.error.value);
  const checkpoint = value?.checkpoint ?? versions.find((version) => version.checkpoint_id === at);
  return (
    <section class="stack" aria-labelledby={heading}>
      <div class="pane-head">
        <h2 id={heading} ref={title} tabIndex={-1}>
          State at {checkpoint ? versionName(checkpoint) : `version ${at}`}
        </h2>
        <button
          type="button"
          disabled={isGone || fork.isBusy.value}
          aria-describedby={isGone ? reason : undefined}
          onClick={() => fork.start()}
        >
          Fork from here
        </button>
      </div>
      {checkpoint && <Origin checkpoint={checkpoint} />}
      {isGone && (
        <p class="note" id={reason} role="status">
          This version is not kept any more, so it can neither be read nor forked. {keepingText}
        </p>
      )}
      {error !== undefined && !isGone && <ErrorNote error={error} again={again} />}
      {fork.error.value !== undefined && !isGone && <ErrorNote error={fork.error.value} />}
      {value && (
        <>
          <Comparison id={id} at={at} from={from} versions={versions} state={value.state} />
          <details open>
            <summary>Whole state</summary>
            <JsonView label="State at this version" value={value.state} />
          </details>
        </>
      )}
    </section>
  );
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

function Origin({ checkpoint: { created_at: at, run_id: run, metadata } }: { readonly checkpoint: Checkpoint }) {
  return (
    <div class="hint">
      <Time at={at} />
      {run !== null && (
        <>
          {' by '}
          <RunLink id={run} />
        </>
      )}
      {metadata !== null && (
        <>
          {' '}
          with metadata <FoldedJson label="Metadata of the version" value={metadata} />
        </>
      )}
    </div>
  );
}

interface ComparisonProps extends PastStateProps {
  readonly state: unknown;
}

/** What this version has changed since another, or what has changed from it until now. */
function Comparison({ id, at, from, versions, state }: ComparisonProps) {
  const other = from ?? versionBefore(versions, at) ?? '';
  const choose = (event: Event): void => {
    const { view, query } = route.peek();
    const chosen = (event.currentTarget as HTMLSelectElement).value;
    go({ view, id, query: { ...query, from: chosen } }, { replace: true });
  };
  const isListed = other === '' || other === 'now' || versions.some(({ checkpoint_id: each }) => each === other);
  return (
    <div class="stack">
      <label class="inline">
        Compare with
        <select value={other} onChange={choose}>
          <option value="">nothing</option>
          <option value="now">the state now</option>
          {!isListed && <option value={other}>version {other}</option>}
          {versions
            .filter(({ checkpoint_id: each }) => each !== at)
            .map((version) => (
              <option key={version.checkpoint_id} value={version.checkpoint_id}>
                {optionText(version)}
              </option>
            ))}
        </select>
      </label>
      {other !== '' && <Difference key={other} id={id} at={at} other={other} state={state} />}
    </div>
  );
}

const optionText = (version: Checkpoint): string =>
  `${versionName(version)}, ${timeText(version.created_at)} (${version.checkpoint_id})`;

interface DifferenceProps {
  readonly id: string;
  readonly at: string;
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
  if (error !== undefined) return <ErrorNote error={error} again={again} />;
  if (!value) return <p class="hint">Loading …</p>;
  const isLater = other === 'now' || Number(other) > Number(at);
  const [before, after] = isLater ? [state, value.state] : [value.state, state];
  return (
    <RawOnFault raw={after}>
      <Changes before={before} after={after} />
    </RawOnFault>
  );
}

/** So many changes are drawn; a reader of more reads the states. */
const maxShown = 500;
/** A longer text is folded. */
const longText = 400;

const words: Readonly<Record<Change['kind'], string>> = { added: 'Added', removed: 'Removed', changed: 'Changed' };

/** What is different between the earlier and the later of two states. */
function Changes({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const changes = useMemo(() => diff(before, after), [before, after]);
  if (changes.length === 0) return <p class="hint">The two states are equal.</p>;
  const shown = changes.slice(0, maxShown);
  return (
    <>
      <table class="changes">
        <caption>{countsText(changes)}, from the earlier state to the later one</caption>
        <thead>
          <tr>
            <th scope="col">Change</th>
            <th scope="col">Path</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((change) => (
            <ChangeRow key={`${change.kind} ${pathText(change.path)}`} change={change} />
          ))}
        </tbody>
      </table>
      {changes.length > maxShown && <p class="hint">{counted(changes.length - maxShown, 'more change')} not shown.</p>}
    </>
  );
}

function countsText(changes: readonly Change[]): string {
  const counts = (['added', 'removed', 'changed'] as const)
    .map((kind) => [kind, changes.filter((change) => change.kind === kind).length] as const)
    .filter(([, count]) => count > 0);
  return counts.map(([kind, count]) => `${grouped(count)} ${kind}`).join(', ');
}

function ChangeRow({ change }: { readonly change: Change }) {
  return (
    <tr class={`change-${change.kind}`}>
      <th scope="row">{words[change.kind]}</th>
      <td>
        <code>{pathText(change.path)}</code>
      </td>
      <td>
        {change.kind !== 'added' && (
          <del>
            <FoldedJson label="Earlier value" value={change.before} maxInline={longText} />
          </del>
        )}
        {change.kind !== 'removed' && (
          <ins>
            <FoldedJson label="Later value" value={change.after} maxInline={longText} />
          </ins>
        )}
      </td>
    </tr>
  );
}
