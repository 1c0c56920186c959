import type { ComponentChildren } from 'preact';
import { counted, duration, grouped } from '../../../ui/format.ts';
import { clockTime } from '../../../ui/time-text.ts';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { JsonTree } from '../../../ui/json-tree/json-tree.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { StateDiff } from '../../../ui/json-tree/state-diff.tsx';
import { FoundMemories } from './found-memories.tsx';
import { MemoryLink } from '../../../ui/memory-link.tsx';
import { SentMessages } from './sent-messages.tsx';
import { answerOf, callOf, outputOf, sentBy } from './span-content.ts';
import { reasonBeside } from './cause.ts';
import { causeOfNode, errorOfNode, holdersOf, statusOfNode, thrownOf, type SpanNode } from './span-tree.ts';
import { stackParts } from './stack-parts.ts';
import type { PastFields, StepRecord } from './step-record.ts';
import { nameOf } from './row-kind.ts';
import { textOf, type Block, type SpanContent, type TraceSpan } from '@agent-workflow/client';

export interface SpanPanelProps {
  readonly node: SpanNode;
  /** Of the step of the run that it is in. */
  readonly record: StepRecord;
  /** Whether this service shows what was recorded of prompts, stacks and log lines. */
  readonly showsContent: boolean;
}

/** Whether a span stands for all of its step of the run. */
const isWholeStep = ({ span, step }: SpanNode): boolean =>
  step?.parent_id === null || (span.kind === 'step' && span.parent_id === null);

/** A span of a sub-graph: what it was given and gave is not on record by itself. */
const isInside = (node: SpanNode): boolean =>
  holdersOf(node).some(({ step, span }) => !step && span.kind === 'node') || node.span.inner_step !== undefined;

/** What went in: the state before the step, the arguments of a tool, the messages to a model. */
export function InputPanel({ node, record, showsContent }: SpanPanelProps) {
  const { span } = node;
  if (span.kind === 'takeover') return <Nothing>A takeover has no input: another worker began the step again.</Nothing>;
  if (span.content?.input !== undefined) return <Content of={span.content} member="input" title="Input" />;
  if (span.kind === 'tool') return <ToolInput span={span} record={record} />;
  if (span.kind === 'model') return <ModelInput span={span} record={record} />;
  return (
    <>
      {span.kind === 'branch' && (
        <p class="hint">
          {withheld(span, showsContent, 'What the branch was given')} This is the state before the step.
        </p>
      )}
      {isInside(node) && span.kind !== 'branch' && (
        <p class="hint">This is the state of the graph before the step of the run.</p>
      )}
      <Past past={record.before} label="State before the step" />
    </>
  );
}

function Past({ past, label }: { readonly past: PastFields | undefined; readonly label: string }) {
  if (!past) return <Nothing>{label} is no longer kept.</Nothing>;
  return (
    <>
      {past.isTruncated && <p class="hint">Of its context only the newest messages came.</p>}
      <JsonTree label={label} value={past.fields} text={past.text} at={past.at} />
    </>
  );
}

function ToolInput({ span, record }: Pick<SpanPanelProps, 'record'> & { readonly span: TraceSpan }) {
  const { asked } = callOf(span, record);
  if (!asked)
    return <Nothing>The arguments of this call are not on record: no message of the thread asks for it.</Nothing>;
  return <JsonTree label="Arguments" value={asked['args'] ?? asked} />;
}

function ModelInput({ span, record }: Pick<SpanPanelProps, 'record'> & { readonly span: TraceSpan }) {
  if (!span.sent) return <Nothing>Which messages the model was sent is not on record.</Nothing>;
  const { messages, missing, other } = sentBy(span, record);
  return (
    <>
      <p class="hint">
        {counted(span.sent.count, 'message')} sent
        {missing > 0 && `, ${grouped(missing)} of them no longer kept`}
        {other > 0 && `, ${grouped(other)} made for this call alone: see Prompt`}
      </p>
      <SentMessages messages={messages} />
    </>
  );
}

/** What came out: the fields and messages of a step, the result of a tool, the answer of a model. */
export function OutputPanel({ node, record, showsContent }: SpanPanelProps) {
  const { span } = node;
  const status = statusOfNode(node);
  return (
    <>
      {span.finish_reason !== undefined && (
        <dl class="facts-list">
          <div>
            <dt>Finish reason</dt>
            <dd>{span.finish_reason}</dd>
          </div>
        </dl>
      )}
      <Output node={node} record={record} showsContent={showsContent} status={status} />
      {span.memory_ids && <FoundMemories ids={span.memory_ids} search={soughtBy(span, record)} />}
      <Logs content={span.content} />
    </>
  );
}

function Output({ node, record, showsContent, status }: SpanPanelProps & { readonly status: TraceSpan['status'] }) {
  const { span } = node;
  if (span.content?.output !== undefined) return <Content of={span.content} member="output" title="Output" />;
  if (span.kind === 'takeover') return <Nothing>A takeover gives nothing by itself.</Nothing>;
  if (status === 'failed') return <Nothing>Nothing: it failed before it gave a result.</Nothing>;
  if (status === 'running' || status === 'sleeping') return <Nothing>Nothing yet: it is not done.</Nothing>;
  if (span.kind === 'tool') {
    const { result } = callOf(span, record);
    return result ? (
      <>
        <JsonTree label="Result" value={result['content'] ?? result} />
        <MemoryLink text={resultText(result)} />
      </>
    ) : (
      <Nothing>No message holds its result.</Nothing>
    );
  }
  if (span.kind === 'model') {
    const answer = answerOf(span, record);
    return answer ? (
      <>
        <SentMessages messages={[answer]} />
        <MemoryLink text={textOf(answer)} />
      </>
    ) : (
      <Nothing>{withheld(span, showsContent, 'Its answer became no message, and')}</Nothing>
    );
  }
  const output = outputOf(span, record, isWholeStep(node));
  if (!output) return <Nothing>What it gave is not on record by itself.</Nothing>;
  const names = Object.keys(output.fields);
  if (names.length === 0 && output.messages.length === 0)
    return (
      <Nothing>
        {status === 'waiting'
          ? 'Nothing yet: it waits for an answer.'
          : 'Nothing: it changed no field and gave no message.'}
      </Nothing>
    );
  return (
    <>
      {names.length > 0 && !isWholeStep(node) && (
        <p class="hint">
          {span.kind === 'branch'
            ? 'The record has of a branch only the names of the fields that it changed: these are the values after the whole step, of all branches together.'
            : 'It changed these fields, which are shown as they were after the step.'}
        </p>
      )}
      {names.length > 0 && (
        <JsonTree label={isWholeStep(node) ? 'Changed fields' : 'Fields after the step'} value={output.fields} />
      )}
      {output.messages.length > 0 && <SentMessages messages={output.messages} />}
      {output.unnamed > 0 && (
        <p class="hint">{counted(output.unnamed, 'more message')} of it are in the output of the step.</p>
      )}
    </>
  );
}

/** What a tool that found memories was asked for: the first text of its arguments. */
function soughtBy(span: TraceSpan, record: StepRecord): string {
  const args: unknown = span.kind === 'tool' ? callOf(span, record).asked?.['args'] : undefined;
  const texts = typeof args === 'object' && args !== null ? Object.values(args) : [];
  return texts.find((text): text is string => typeof text === 'string')?.slice(0, maxSought) ?? '';
}

/** More characters of an argument are not searched for. */
const maxSought = 500;

/** What a tool gave, where that is a text. */
const resultText = ({ output }: Block): string => (typeof output === 'string' ? output : '');

/** What the step of the run has changed, whichever of its spans is chosen. */
export function DiffPanel({ node, record }: SpanPanelProps) {
  const { before, after } = record;
  const { step } = node.span;
  if (!after)
    return <Nothing>Step {step} has not changed the state: it was not committed, or is no longer kept.</Nothing>;
  if (!before) return <Nothing>The state before step {step} is no longer kept.</Nothing>;
  return (
    <>
      <p class="hint">From before step {step} of the run to after it.</p>
      <StateDiff before={before.fields} after={after.fields} />
    </>
  );
}

/** The prompt of a model as it was sent; of anything else the way to the nearest one. */
export function PromptPanel({
  node,
  record,
  showsContent,
  nearest,
  onChoose,
}: SpanPanelProps & { readonly nearest: SpanNode | undefined; readonly onChoose: (node: SpanNode) => void }) {
  const { span } = node;
  if (span.kind !== 'model')
    return (
      <Nothing>
        Only a model call has a prompt.{' '}
        {nearest && (
          <>
            The nearest one:{' '}
            <button type="button" class="link" onClick={() => onChoose(nearest)}>
              {nameOf(nearest, 'model')} in {nameOf(nearest.parent ?? nearest, 'node')}
            </button>
          </>
        )}
      </Nothing>
    );
  const { content } = span;
  const { messages } = sentBy(span, record);
  return (
    <>
      {content?.instructions !== undefined && (
        <Section title="Instructions" copy={content.instructions}>
          <Plain text={content.instructions} />
          <Cut content={content} member="instructions" />
        </Section>
      )}
      {content?.instructions === undefined && <p class="hint">{withheld(span, showsContent, 'Its instructions')}</p>}
      {content?.tools && (
        <Section title="Tools offered">
          <p>{content.tools.join(', ')}</p>
        </Section>
      )}
      {messages.length > 0 && (
        <Section title="Messages of the thread">
          <SentMessages messages={messages} />
        </Section>
      )}
      {content?.sent && (
        <Section title="Messages made for this call">
          <JsonTree label="Messages made for this call" value={content.sent} />
          <Cut content={content} member="sent" />
        </Section>
      )}
    </>
  );
}

/** Why it failed: in words, by its code, where in the code, and what was logged. */
export function ErrorPanel({ node, showsContent }: SpanPanelProps) {
  const error = errorOfNode(node);
  const thrown = thrownOf(node);
  const cause = causeOfNode(node);
  if (cause === undefined) {
    const inner = node.children.some((child) => statusOfNode(child) === 'failed');
    return <Nothing>{inner ? 'A try within it failed; it went on.' : 'Nothing failed here.'}</Nothing>;
  }
  const tries = triesOf(node);
  return (
    <>
      <p class="error-line">{cause}</p>
      <dl class="facts-list">
        {error?.code !== undefined && <Fact name="Code">{error.code}</Fact>}
        {error?.reason !== undefined && reasonBeside(error, thrown) !== undefined && (
          <Fact name="Reason">{error.reason}</Fact>
        )}
        {error && !error.message.includes(cause) && <Fact name="Callers see">{error.message}</Fact>}
        {tries !== '' && <Fact name="Tries">{tries}</Fact>}
      </dl>
      {thrown?.stack === undefined ? (
        <p class="hint">{withheld(node.span, showsContent, 'Its stack')}</p>
      ) : (
        <Stack stack={thrown.stack} />
      )}
      <Logs content={node.span.content} />
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** `3 of 3, with 1.0 s and 2.0 s between`. */
function triesOf({ span, parent }: SpanNode): string {
  if (span.kind !== 'attempt' || !parent) return '';
  const tries = parent.children.filter((child) => child.span.kind === 'attempt');
  const waits = tries.slice(1).flatMap((each, at) => {
    const end = tries[at]?.endMs;
    return end === undefined ? [] : [duration(Math.max(0, each.startMs - end))];
  });
  const last = waits.slice(0, 5).join(' and ');
  return `${String(span.attempt ?? 1)} of ${String(tries.length)}${last === '' ? '' : `, with ${last} between`}`;
}

function Stack({ stack }: { readonly stack: string }) {
  const { head, own, runtime } = stackParts(stack);
  return (
    <Section
      title="Stack"
      note={
        runtime.length === 0
          ? undefined
          : `yours, ${String(own.length)} of ${counted(own.length + runtime.length, 'line')}`
      }
      copy={stack}
    >
      <pre class="stack" tabIndex={0} role="region" aria-label="Lines of the stack">
        {[head, ...own].join('\n')}
      </pre>
      {runtime.length > 0 && (
        <details>
          <summary>{counted(runtime.length, 'line')} of the runtime</summary>
          <pre class="stack" tabIndex={0} role="region" aria-label="Lines of the runtime">
            {runtime.join('\n')}
          </pre>
        </details>
      )}
    </Section>
  );
}

function Logs({ content }: { readonly content: SpanContent | undefined }) {
  if (!content?.logs || content.logs.length === 0) return null;
  return (
    <Section title="Log lines">
      <ol class="log-lines" tabIndex={0} aria-label="Log lines">
        {content.logs.map(({ at, level, text }, index) => (
          <li key={index} class={`log-${level}`}>
            <span class="log-at">{clockTime(Date.parse(at))}</span> <span class="log-level">{level}</span> {text}
          </li>
        ))}
      </ol>
      <Cut content={content} member="logs" />
    </Section>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: string | undefined;
  /** What its button copies. */
  readonly copy?: string;
  readonly children: ComponentChildren;
}

function Section({ title, note, copy, children }: SectionProps) {
  return (
    <section class="span-section" aria-label={title}>
      <h3>
        {title} {note !== undefined && <span>{note}</span>}
        {copy !== undefined && <CopyButton isSign name={`Copy: ${title}`} text={() => copy} />}
      </h3>
      {children}
    </section>
  );
}

interface ContentProps {
  readonly of: SpanContent;
  readonly member: 'input' | 'output';
  readonly title: string;
}

function Content({ of, member, title }: ContentProps) {
  const value = of[member];
  return (
    <>
      {typeof value === 'string' ? <Plain text={value} /> : <JsonTree label={title} value={value} />}
      <Cut content={of} member={member} />
    </>
  );
}

function Cut({ content: { cut }, member }: { readonly content: SpanContent; readonly member: string }) {
  const bytes = cut?.[member];
  return bytes === undefined ? null : <p class="hint">This is its beginning: it had {counted(bytes, 'byte')}.</p>;
}

const Nothing = ({ children }: { readonly children: ComponentChildren }) => <p class="hint span-nothing">{children}</p>;

/** Why something is not there. */
function withheld({ content_lost: isLost }: TraceSpan, showsContent: boolean, what: string): string {
  if (isLost === true) return `${what} was recorded in part: the run had no room left for it.`;
  return showsContent
    ? `${what} is not on record: TRACE_CONTENT is off, or there was none.`
    : `${what} is for operators alone.`;
}
