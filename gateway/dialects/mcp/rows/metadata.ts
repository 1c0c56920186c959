import { notFound } from '@agent-workflow/kit/errors';
import { resourceMetadataPath } from '../../../http/access.ts';
import { endpoint } from '../../common/services.ts';

/** What callers need to authenticate: the issuer of their tokens (RFC 9728). */
const metadata = endpoint({
  name: 'mcpResourceMetadata',
  method: 'GET',
  path: `${resourceMetadataPath}/mcp`,
  aliases: [{ method: 'GET', path: resourceMetadataPath }],
  answer: 'bare',
  access: 'every caller',
  handle: ({ origin }, { secured, config: { JWT_ISSUER: issuer } }) => {
    if (!secured) throw notFound('nobody authenticates here');
    const isAddress = issuer !== undefined && /^https?:/.test(issuer) && URL.canParse(issuer);
    return JSON.stringify({
      ...{ resource: `${origin()}/mcp`, resource_name: 'Agent Workflow Service', bearer_methods_supported: ['header'] },
      ...(isAddress && { authorization_servers: [issuer] }),
    });
  },
});

export const metadataRows = [metadata];
