import { useMemo } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { useLoaded } from '../../../session/loaded.ts';
import { toHash } from '../../../session/route.ts';
import { duration, grouped } from '../../../ui/format.ts';
import { Failure } from '../../../ui/patterns/failure.tsx';
import { Skeleton } from '../../../ui/patterns/skeleton.tsx';
import { StatusDot } from '../../../ui/patterns/status-dot.tsx';
import { Tabs } from '../../../ui/patterns/tabs.tsx';
import { RawOnFault } from '../../../ui/patterns/raw-on-fault.tsx';
import { goTo, type RunPlace, type SpanTab } from './run-address.ts';
import { hasRecord, useTrace, type KnownTrace } from './followed-trace.ts';
import { idOfPair, pairSteps, type PairedStep } from './paired-steps.ts';
import { DiffPanel, ErrorPanel, InputPanel, OutputPanel } from './span-panel.tsx';
import { statusOfNode, tookMs, tokensOf, type SpanNode } from './span-tree.ts';
import { createStepRecords, type StepRecords } from './step-records.ts';
import { nameOf, rowKindOf } from './row-kind.ts';

interface ComparisonProps {
  readonly trace: KnownTrace;
  /** The run that it is compared with. */
  readonly other: string;
  readonly place: RunPlace;
  readonly records: StepRecords;
  readonly now: number;
}

/** Two runs side by side: their steps in pairs, how long each took, and what each of a pair was given and gave. */
export function Comparison({ trace, other, place, records, now }: ComparisonProps) {
  const second = useTrace(other, undefined);
  const known = second.trace.value;
  const pairs = useMemo(() => (known ? pairSteps(trace.tree, known.tree) : []), [trace.tree, known?.tree]);
  const otherRecords = useMemo(
    () => createStepRecords(other, known?.head.thread_id ?? '', (step) => hasRecord(second.trace.peek(), step)),
    [other, known?.head.thread_id],
  );
  if (second.error.value !== undefined && !known) return <Failure error={second.error.value} retry={second.again} />;
  if (!known) return <Skeleton rows={8} />;
  const chosen = pairs.find((pair) => idOfPair(pair) === place.span) ?? pairs[0];
  const longest = Math.max(
    1,
    ...pairs.flatMap(({ left, right }) => [left, right].map((each) => (each ? tookMs(each, now) : 0))),
  );
  return (
    <div class="comparison" role="region" aria-label="Comparison" tabIndex={0}>
      <table class="paired">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">
              <RunFacts trace={trace}>This run</RunFacts>
            </th>
            <th scope="col">
              <RunFacts trace={known}>
                <a href={toHash({ view: 'runs', id: other })}>The other run</a>
              </RunFacts>
            </th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <PairRow key={idOfPair(pair)} pair={pair} longest={longest} now={now} isChosen={pair === chosen} />
          ))}
        </tbody>
      </table>
      {chosen && (
        <PairPanels
          pair={chosen}
          tab={place.tab ?? 'output'}
          ours={{ trace, records }}
          theirs={{ trace: known, records: otherRecords }}
        />
      )}
    </div>
  );
}

function RunFacts({
  trace: { head, tree },
  children,
}: {
  readonly trace: KnownTrace;
  readonly children: ComponentChildren;
}) {
  const tokens = tree.reduce((sum, { span, step }) => sum + tokensOf(step ?? span), 0);
  const tookText = head.ended_at === null ? '' : duration(Date.parse(head.ended_at) - Date.parse(head.created_at));
  return (
    <span class="paired-head">
      <span>{children}</span>
      <span class="hint">
        <StatusDot status={head.status} hasWord /> {tookText}
        {tokens > 0 && `, ${grouped(tokens)} tokens`}
      </span>
    </span>
  );
}

interface PairRowProps {
  readonly pair: PairedStep;
  readonly longest: number;
  readonly now: number;
  readonly isChosen: boolean;
}

function PairRow({ pair, longest, now, isChosen }: PairRowProps) {
  const { left, right } = pair;
  const named = left ?? right;
  return (
    <tr class={isChosen ? 'is-chosen' : ''}>
      <th scope="row">
        <button type="button" class="link" aria-pressed={isChosen} onClick={() => goTo({ span: idOfPair(pair) })}>
          {named && nameOf(named, rowKindOf(named))}
        </button>
      </th>
      <td>
        <PairBar node={left} longest={longest} now={now} />
      </td>
      <td>
        <PairBar node={right} longest={longest} now={now} />
      </td>
      <td class="paired-by">
        {left && right ? differenceText(tookMs(right, now) - tookMs(left, now)) : left ? 'only here' : 'only there'}
      </td>
    </tr>
  );
}

const differenceText = (ms: number): string =>
  Math.abs(ms) < 1 ? 'same' : `${ms < 0 ? '−' : '+'}${duration(Math.abs(ms))}`;

function PairBar({
  node,
  longest,
  now,
}: {
  readonly node: SpanNode | undefined;
  readonly longest: number;
  readonly now: number;
}) {
  if (!node) return <span class="hint">not there</span>;
  const ms = tookMs(node, now);
  return (
    <span class="paired-took">
      <span class="paired-lane" aria-hidden="true">
        <span
          class={`paired-bar bar-${statusOfNode(node)}`}
          style={{ width: `${((100 * ms) / longest).toFixed(2)}%` }}
        />
      </span>
      {duration(ms)}
      <span class="unseen">, {statusOfNode(node)}</span>
    </span>
  );
}

interface SideProps {
  readonly trace: KnownTrace;
  readonly records: StepRecords;
}

interface PairPanelsProps {
  readonly pair: PairedStep;
  readonly tab: SpanTab;
  readonly ours: SideProps;
  readonly theirs: SideProps;
}

const compared = [
  { id: 'input', title: 'Input' },
  { id: 'output', title: 'Output' },
  { id: 'diff', title: 'State diff' },
  { id: 'error', title: 'Error' },
] as const;

function PairPanels({ pair, tab, ours, theirs }: PairPanelsProps) {
  const selected = compared.some(({ id }) => id === tab) ? tab : 'output';
  return (
    <Tabs
      label="What the steps were given and gave"
      tabs={compared}
      selected={selected}
      onSelect={(id) => goTo({ tab: id as SpanTab, span: idOfPair(pair) })}
    >
      <div class="paired-panels">
        <Side title="This run" node={pair.left} tab={selected} {...ours} />
        <Side title="The other run" node={pair.right} tab={selected} {...theirs} />
      </div>
    </Tabs>
  );
}

function Side({
  title,
  node,
  tab,
  trace,
  records,
}: SideProps & { readonly title: string; readonly node: SpanNode | undefined; readonly tab: SpanTab }) {
  const step = node?.span.step;
  const { state } = useLoaded(
    async (signal) => (step === undefined ? {} : records.read(step, signal)),
    [records, step],
  );
  const { value: record, error } = state.value;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {error !== undefined && <Failure error={error} />}
      {!node && <p class="hint">This run has no such step.</p>}
      {node && record && (
        <RawOnFault key={tab} raw={node.span}>
          <SidePanel tab={tab} node={node} record={record} showsContent={trace.head.shows_content} />
        </RawOnFault>
      )}
    </section>
  );
}

function SidePanel({ tab, ...props }: Parameters<typeof InputPanel>[0] & { readonly tab: SpanTab }) {
  if (tab === 'input') return <InputPanel {...props} />;
  if (tab === 'diff') return <DiffPanel {...props} />;
  return tab === 'error' ? <ErrorPanel {...props} /> : <OutputPanel {...props} />;
}
