import type { Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { startNode } from '../out/shown-checkpoints.ts';

interface Drawing {
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional?: boolean }[];
}

/** The nodes with which the graph of a thread begins; where a condition chooses them, the start itself. */
export async function firstNodes(
  { call }: Pick<EndpointRequest, 'call'>,
  { agent }: Pick<Thread, 'agent'>,
  { execution }: Pick<Services, 'execution'>,
): Promise<readonly string[]> {
  const { graphJson } = await execution.getGraph(agent === undefined ? {} : { agent }, call());
  const { edges } = JSON.parse(jsonText(graphJson)) as Drawing;
  const first = edges.filter(({ source }) => source === startNode);
  if (first.length === 0 || first.some(({ conditional = false }) => conditional)) return [startNode];
  return first.map(({ target }) => target).filter((target) => target !== '__end__');
}
