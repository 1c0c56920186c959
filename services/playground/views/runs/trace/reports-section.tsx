import { JsonTree } from '../../../ui/json-tree/json-tree.tsx';
import { counted, duration, grouped } from '../../../ui/format.ts';
import type { RunLog } from '../log/run-log.ts';
import { goTo } from './run-address.ts';
import { reportsOf } from './span-reports.ts';
import { idOf, type SpanNode } from './span-tree.ts';

/** More reports of a span are found among its events. */
const mostShown = 50;

/** What a span has reported of its progress, each with the time since it began, and the way to its events. */
export function ReportsSection({ node, log }: { readonly node: SpanNode; readonly log: RunLog }) {
  if (node.span.kind === 'takeover' || node.span.kind === 'model') return null;
  const { reports, count } = reportsOf(log.events, node, mostShown);
  const hasBranches = node.span.kind !== 'branch' && reports.some(({ branch }) => branch !== undefined);
  const openEvents = (): void => goTo({ show: 'events', span: idOf(node), isOfSpan: true, isInside: false });
  return (
    <section class="span-section" aria-label="Reports">
      {count > 0 && (
        <>
          <h3>
            Reports <span>while it ran</span>
          </h3>
          <ol class={hasBranches ? 'reports of-branches' : 'reports'}>
            {reports.map(({ seq, at, custom, branch }) => (
              <li key={seq}>
                <span class="report-at">+{duration(at - node.startMs)}</span>
                {hasBranches && (
                  <span class="report-branch">{branch !== undefined && `branch ${grouped(branch)}`}</span>
                )}
                <JsonTree label={`Report at ${duration(at - node.startMs)}`} value={custom} />
              </li>
            ))}
          </ol>
          {count > reports.length && (
            <p class="hint">{counted(count - reports.length, 'more report')} are among its events.</p>
          )}
        </>
      )}
      <p>
        <button type="button" class="link" onClick={openEvents}>
          Its events
        </button>
      </p>
    </section>
  );
}
