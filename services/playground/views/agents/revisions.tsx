import type { AgentItem } from '@agent-workflow/client';
import { grouped } from '../../ui/format.ts';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';

interface RevisionsProps {
  readonly name: string;
  readonly revisions: NonNullable<AgentItem['revisions']>;
}

/** The builds of an agent, the newest first, and a warning where new runs go to one that no worker holds. */
export function Revisions({ name, revisions }: RevisionsProps) {
  // The reply to a change of the routing warns of the same revisions: new runs go to them, and no worker takes these.
  const unserved = revisions.filter(({ percent, workers }) => percent > 0 && workers === 0);
  return (
    <>
      <table class="revisions" aria-label={`Revisions of ${name}`}>
        <thead>
          <tr>
            <th scope="col">Revision</th>
            <th scope="col">State</th>
            <th scope="col">Share</th>
            <th scope="col">Workers</th>
            <th scope="col">Open runs</th>
            <th scope="col">Registered</th>
          </tr>
        </thead>
        <tbody>
          {revisions
            .toReversed()
            .map(({ revision, state, percent, workers, open_runs: openRuns, registered_at: at }) => (
              <tr key={revision}>
                <th scope="row">{revision}</th>
                <td>
                  <span class={`status revision-${state}`}>{state}</span>
                </td>
                <td>{percent} %</td>
                <td>
                  <Count value={workers} absent="not known" />
                </td>
                <td>
                  <Count value={openRuns} absent="not counted" />
                </td>
                <td>
                  <RelativeTime at={at} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      {unserved.length > 0 && (
        <div class="note" role="status" aria-label={`Warnings about ${name}`}>
          {unserved.map(({ revision }) => (
            <p key={revision}>No worker of revision {revision} is there: its runs wait until one comes.</p>
          ))}
        </div>
      )}
      {revisions.some(({ state }) => state === 'drained') && (
        <p class="hint">A drained revision gets no new runs and has none left: its workers may be taken away.</p>
      )}
    </>
  );
}

/** A number of the service; it is absent while the service does not know it. */
const Count = ({ value, absent }: { readonly value: number | undefined; readonly absent: string }) =>
  value === undefined ? <span class="hint">{absent}</span> : <>{grouped(value)}</>;
