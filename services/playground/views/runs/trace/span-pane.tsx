import { useLoaded } from '../../../session/loaded.ts';
import { duration, grouped } from '../../../ui/format.ts';
import { Failure } from '../../../ui/patterns/failure.tsx';
import { Skeleton } from '../../../ui/patterns/skeleton.tsx';
import { StatusDot } from '../../../ui/patterns/status-dot.tsx';
import { Tabs } from '../../../ui/patterns/tabs.tsx';
import { RawOnFault } from '../../../ui/patterns/raw-on-fault.tsx';
import type { ComponentChildren } from 'preact';
import type { RunLog } from '../log/run-log.ts';
import { spanTabs, type SpanTab } from './run-address.ts';
import { ReportsSection } from './reports-section.tsx';
import { DiffPanel, ErrorPanel, InputPanel, OutputPanel, PromptPanel, type SpanPanelProps } from './span-panel.tsx';
import {
  allOf,
  causeOfNode,
  errorOfNode,
  holdersOf,
  idOf,
  statusOfNode,
  tookMs,
  tokensOf,
  type SpanNode,
} from './span-tree.ts';
import type { StepRecords } from './step-records.ts';
import { nameOf, rowKindOf } from './row-kind.ts';

interface SpanPaneProps {
  readonly node: SpanNode;
  readonly tree: readonly SpanNode[];
  readonly log: RunLog;
  readonly records: StepRecords;
  readonly showsContent: boolean;
  /** When the axis begins, in milliseconds since 1970. */
  readonly startMs: number;
  readonly now: number;
  readonly tab: SpanTab;
  readonly onTab: (tab: SpanTab) => void;
  readonly onChoose: (node: SpanNode) => void;
  /** Buttons, at the right of its name. */
  readonly actions?: ComponentChildren;
  /** The way back to the tree, on a phone. */
  readonly back?: ComponentChildren;
}

const titles: Readonly<Record<SpanTab, string>> = {
  input: 'Input',
  output: 'Output',
  diff: 'State diff',
  prompt: 'Prompt',
  error: 'Error',
};

const statusWords: Readonly<Record<string, string>> = { waiting: 'waiting', sleeping: 'sleeping' };

/** The chosen span: what it was, what went in and came out, what it changed, and why it failed. */
export function SpanPane(props: SpanPaneProps) {
  const { node, records, showsContent, tab, onTab } = props;
  const { span } = node;
  const status = statusOfNode(node);
  const { state, again } = useLoaded((signal) => records.read(span.step, signal), [records, span.step, status]);
  const { value: record, error } = state.value;
  const name = nameOf(node, rowKindOf(node));
  // On a phone it is the page.
  const Heading = props.back ? 'h1' : 'h2';
  return (
    <aside class="span-pane" aria-label="Chosen step">
      <header>
        <div class="span-title">
          {props.back}
          <Heading class={span.kind === 'model' || span.kind === 'tool' ? 'is-code' : ''}>
            <bdi>{name}</bdi>
          </Heading>
          <StatusDot status={statusWords[status] ?? status} hasWord />
          {props.actions}
        </div>
        <SpanFacts {...props} />
      </header>
      <Tabs
        label={`Step ${name}`}
        tabs={spanTabs.map((id) => ({ id, title: titles[id], isQuiet: isEmpty(id, node) }))}
        selected={tab}
        onSelect={(id) => onTab(id as SpanTab)}
      >
        <div class="span-content" tabIndex={0} role="region" aria-label={titles[tab]}>
          {error !== undefined && <Failure error={error} retry={again} />}
          {record === undefined && error === undefined && <Skeleton rows={6} />}
          {record && (
            <RawOnFault key={`${idOf(node)} ${tab}`} raw={span}>
              <Panel {...props} record={record} showsContent={showsContent} />
            </RawOnFault>
          )}
        </div>
      </Tabs>
    </aside>
  );
}

/** The chosen span without what went in and came out: what it was, how long it took, and why it failed. */
export function MaskedSpan({ node, startMs, now, back }: Pick<SpanPaneProps, 'node' | 'startMs' | 'now' | 'back'>) {
  const status = statusOfNode(node);
  const error = errorOfNode(node);
  const Heading = back ? 'h1' : 'h2';
  return (
    <aside class="span-pane" aria-label="Chosen step">
      <header>
        <div class="span-title">
          {back}
          <Heading>
            <bdi>{nameOf(node, rowKindOf(node))}</bdi>
          </Heading>
          <StatusDot status={statusWords[status] ?? status} hasWord />
        </div>
        <SpanFacts {...{ node, startMs, now }} />
      </header>
      <div class="span-content">{error && <p class="note note-error">{error.message}</p>}</div>
    </aside>
  );
}

function Panel({ tab, tree, onChoose, ...props }: SpanPaneProps & SpanPanelProps) {
  switch (tab) {
    case 'input':
      return <InputPanel {...props} />;
    case 'output':
      return (
        <>
          <OutputPanel {...props} />
          <ReportsSection node={props.node} log={props.log} />
        </>
      );
    case 'diff':
      return <DiffPanel {...props} />;
    case 'prompt':
      return <PromptPanel {...props} nearest={nearestModel(tree, props.node)} onChoose={onChoose} />;
    case 'error':
      return <ErrorPanel {...props} />;
  }
}

/** A tab that only says that there is nothing. */
const isEmpty = (tab: SpanTab, node: SpanNode): boolean =>
  (tab === 'prompt' && node.span.kind !== 'model') || (tab === 'error' && causeOfNode(node) === undefined);

/** The model call that began last before a span ended. */
function nearestModel(tree: readonly SpanNode[], { startMs, endMs = startMs }: SpanNode): SpanNode | undefined {
  let nearest: SpanNode | undefined;
  for (const node of allOf(tree)) {
    if (node.span.kind !== 'model' || node.startMs > endMs) continue;
    if (!nearest || node.startMs >= nearest.startMs) nearest = node;
  }
  return nearest;
}

function SpanFacts({ node, startMs, now }: Pick<SpanPaneProps, 'node' | 'startMs' | 'now'>) {
  const { span } = node;
  const within = holdersOf(node).map((holder) => nameOf(holder, rowKindOf(holder)));
  const from = node.startMs - startMs;
  const tokens = tokensOf(span);
  return (
    <p class="span-facts">
      <span>
        step {span.step}
        {within.length > 0 && (
          <>
            , in <bdi>{within.join(', ')}</bdi>
          </>
        )}
      </span>
      {span.kind !== 'takeover' && (
        <span>
          {duration(from)} → {duration(from + tookMs(node, now))}
        </span>
      )}
      <span>{duration(tookMs(node, now))}</span>
      <span>{span.replayed === true ? 'replayed' : 'live'}</span>
      {tokens > 0 && (
        <span>
          {grouped(span.usage?.input_tokens ?? 0)} tokens in, {grouped(span.usage?.output_tokens ?? 0)} out
        </span>
      )}
      {span.finish_reason !== undefined && <span>ended by {span.finish_reason}</span>}
    </p>
  );
}
