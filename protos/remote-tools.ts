import { bytesOfTexts } from '@agent-workflow/kit/sizes';
import type { RemoteTool } from './execution.ts';

/** What the tools of a run count against their size limit, which the gateway and the service of runs both check. */
export const bytesOfTools = (tools: readonly RemoteTool[]): number =>
  tools.reduce(
    (sum, { name, nodeName, description, parametersJson }) =>
      sum + bytesOfTexts([name, nodeName, description]) + parametersJson.byteLength,
    0,
  );
