import { barOf, percentAt, type TraceAxis } from './trace-axis.ts';
import { statusOfNode, tookMs, type SpanNode } from './span-tree.ts';
import type { TraceRow } from './trace-rows.ts';

interface TraceBarProps {
  readonly row: TraceRow;
  /** Stands beside a tick. */
  readonly note: string;
  readonly axis: TraceAxis;
  readonly now: number;
}

/**
 * The time of a row on the axis: thick for work, thin for what holds other work, hollow for what was replayed, dashed for rows put together, a tick for a
 * takeover, and a hairline for each branch of a fan-out.
 */
export function TraceBar({ row, note, axis, now }: TraceBarProps) {
  const { kind, node, startMs, endMs } = row;
  if (kind === 'lost') return null;
  if (kind === 'fan' && node) return <Hairlines branches={node.children} axis={axis} now={now} />;
  const { left, width } = barOf(axis, startMs, endMs);
  const classes = [
    `bar-${kind}`,
    row.isOpen !== undefined && kind !== 'rest' ? 'bar-holds' : '',
    node?.span.replayed === true ? 'bar-replayed' : '',
    node ? `bar-${statusOfNode(node)}` : '',
  ];
  return (
    <>
      <span
        class={`trace-bar ${classes.join(' ')}`}
        style={{ insetInlineStart: percent(left), ...(kind !== 'takeover' && { width: percent(width) }) }}
      />
      {kind === 'takeover' && (
        <span class={`trace-tick-note ${left > 60 ? 'is-left' : ''}`} style={{ insetInlineStart: percent(left) }}>
          {note}
        </span>
      )}
    </>
  );
}

const percent = (of: number): string => `${of.toFixed(3)}%`;

/** So many hairlines can be told apart. */
const maxLines = 40;
/** Units of the drawing: it is as wide as the axis, whatever the size on the page. */
const width = 1000;

interface HairlinesProps {
  readonly branches: readonly SpanNode[];
  readonly axis: TraceAxis;
  readonly now: number;
}

/** A line for each branch, in their order. Of more than can be told apart, neighbours share a line, which is as long as the longest. */
function Hairlines({ branches, axis, now }: HairlinesProps) {
  const perLine = Math.ceil(branches.length / maxLines);
  const count = Math.ceil(branches.length / perLine);
  const [fine, failed]: [string[], string[]] = [[], []];
  for (const [at, branch] of branches.entries()) {
    const x = (percentAt(axis, branch.startMs) / 100) * width;
    const to = (percentAt(axis, branch.startMs + tookMs(branch, now)) / 100) * width;
    const path = `M${x.toFixed(1)} ${(Math.floor(at / perLine) + 0.5).toFixed(1)}H${Math.max(x + 2, to).toFixed(1)}`;
    (statusOfNode(branch) === 'failed' ? failed : fine).push(path);
  }
  return (
    <svg
      class="trace-swarm"
      viewBox={`0 0 ${String(width)} ${String(count)}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={fine.join('')} />
      <path class="is-failed" d={failed.join('')} />
    </svg>
  );
}
