import { notFound } from '@agent-workflow/kit/errors';
import { resourceMetadataPath } from '../../../http/access.ts';
import { endpoint } from '../../common/services.ts';

/** What callers need to authenticate: the issuers of their tokens (RFC 9728). */
const metadata = endpoint({
  name: 'mcpResourceMetadata',
  method: 'GET',
  path: `${resourceMetadataPath}/mcp`,
  aliases: [{ method: 'GET', path: resourceMetadataPath }],
  answer: 'bare',
  access: 'every caller',
  handle: ({ origin }, { secured, issuers }) => {
    if (!secured) throw notFound('nobody authenticates here');
    return JSON.stringify({
      ...{ resource: `${origin()}/mcp`, resource_name: 'Agent Workflow Service', bearer_methods_supported: ['header'] },
      ...(issuers.length > 0 && { authorization_servers: issuers }),
    });
  },
});

export const metadataRows = [metadata];
