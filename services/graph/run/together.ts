import { sizes } from '@agent-workflow/kit/sizes';
import type { Block } from '@agent-workflow/protos/message';
import type { StepCode, StepContext, StepQuestion } from '../build/step-code.ts';
import { toJsonValue } from '../state/json-value.ts';
import { runTraced } from '../trace/current-span.ts';
import { runAttempts, unlessAborted } from './attempt.ts';
import { seenByCode } from './begin-together.ts';
import type { NodeResult, PendingInterrupt } from './continuation.ts';
import { collectEmitted } from './emitted-messages.ts';
import { keyOf } from './keys.ts';
import { mayEmit, progressIn, runUnder, suspended, toFailure, toResult, unknownNode, type Life } from './node.ts';
import { hashOf } from './question.ts';
import type { Step } from './super-step.ts';
import { openUsageReports } from './usage-reports.ts';

/**
 * Runs the nodes of a step by the code of its graph, under the policy of the first. A step that waits runs again when one of its questions is answered.
 * @throws RunFailure naming a node.
 */
export async function runTogether(step: Step, code: StepCode): Promise<readonly NodeResult[]> {
  const { graph, nodes, continuation, answers: given = {}, run } = step;
  const unknown = nodes.find((name) => !graph.nodes.has(name));
  if (unknown !== undefined) throw unknownNode(unknown);
  const open = continuation?.asking ?? [];
  const answers = Object.fromEntries(
    open.flatMap(({ open: { id } }) => (Object.hasOwn(given, id) ? [[id, given[id]]] : [])),
  );
  if (open.length > 0 && Object.keys(answers).length === 0)
    return nodes.map((name) =>
      suspended(
        name,
        open.flatMap((waits) => (waits.node === name ? [{ waits }] : [])),
      ),
    );
  const [first = ''] = nodes;
  const policy = graph.policies.get(first);
  const key = open[0]?.key ?? keyOf(step, nodes.join('+'));
  const attempt = (own: Step): Promise<readonly NodeResult[]> => runAttempt(own, code, { answers, key });
  try {
    if (!policy) return await unlessAborted(run.signal, async () => attempt(step));
    const onRestart = (number: number, error: unknown): void => {
      step.onFault?.({ node: first, attempt: number - 1, error });
      for (const node of nodes) step.onRestart?.(node, number);
    };
    return await runAttempts({ policy, signal: run.signal, onRestart, countsFrom: step.countsFrom }, async (signal) =>
      attempt({ ...step, run: runUnder(step, signal) }),
    );
  } catch (error) {
    throw run.signal.aborted ? error : toFailure(step, first, error);
  }
}

async function runAttempt(
  step: Step,
  code: StepCode,
  { answers, key }: Pick<StepContext, 'answers'> & { readonly key: string },
): Promise<readonly NodeResult[]> {
  const { nodes, run, state, span, onInner } = step;
  const life: Life = { isOver: false, hasReturned: false };
  const toBlock = (block: Block): Block => block;
  const emitted = new Map(
    nodes.map((node) => [
      node,
      collectEmitted({
        toBlock,
        onChunk: (chunk) => step.onChunk(node, chunk),
        mayEmit: () => mayEmit(step, node, life),
      }),
    ]),
  );
  const emittedBy = (node: string) => {
    const own = emitted.get(node) ?? emitted.get(nodes[0] ?? '');
    if (!own) throw new Error(`"${node}" is no node of the step`);
    return own;
  };
  const reports = openUsageReports({
    signal: run.signal,
    onUsage: step.onUsage,
    onFinish: (reason) => {
      for (const { onFinish } of emitted.values()) onFinish(reason);
    },
  });
  const context: StepContext = {
    ...run,
    ...step.servicesUnder?.(run.signal, key),
    ...{ nodes, answers, step: step.number, idempotencyKey: key, usage: reports.usage },
    openMessage: (node, role) => emittedBy(node).openMessage(role),
    progress: (node, data) => progressIn(life, step, { node })(data),
    ...(onInner && {
      inner: (node: string, data: unknown) => {
        if (!life.isOver && !run.signal.aborted) onInner(node, data);
      },
    }),
  };
  try {
    const { updates, questions } = await runTraced(span && { span, context: state.context }, () =>
      code.run(seenByCode(state), context),
    );
    life.isOver = true;
    const results = nodes.map((node) => {
      const pending = questions.filter((question) => question.node === node).map((one) => toPending(one, key));
      const { finish, opened } = emittedBy(node);
      const result = toResult(step, node, updates.get(node) ?? {}, { emitted: finish(), opened, toBlock });
      const outputs = result.outputs.map((output) => ({ ...output, areResults: true }));
      return { ...result, outputs, ...(pending.length > 0 && { waiting: true, pending }) };
    });
    life.hasReturned = true;
    return results;
  } finally {
    life.isOver = true;
    reports.close();
  }
}

function toPending({ id, node, value: given }: StepQuestion, key: string): PendingInterrupt {
  const value = toJsonValue(given, 'interrupt()', sizes.message);
  return { node, open: { id, node, value }, shown: { what: hashOf(value), number: 0 }, answers: [], key };
}
