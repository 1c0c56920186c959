import { userIdOf } from '@agent-workflow/kit/ids';
import type { AccessRules } from '../../../access/rules.ts';
import * as examples from '../examples/me.ts';
import { Me } from '../schemas/me.ts';
import { endpoint } from './common/endpoint.ts';

/** What a reply says of a role. */
function roleOf({ roles }: AccessRules, name: string): object {
  const role = roles.get(name);
  return { is: role?.is ?? 'user', ...(role?.is === 'operator' && role.reads && { reads: role.reads }) };
}

/** Who the caller is, for a page that offers what its reader may do. */
export const getMe = endpoint({
  name: 'getMe',
  tag: 'health',
  summary: 'Tell who the caller is',
  description:
    'The id under which others share a thread with the caller, and the roles that `access` of `service.json` gives. What a role lets its holder do is decided at each request.',
  example: examples.getMe,
  method: 'GET',
  path: '/v1/me',
  access: 'every caller',
  reply: Me,
  handle: ({ owner, roles = [] }, { access }) =>
    JSON.stringify({
      user_id: userIdOf(owner) ?? '',
      signs_in: access.signsIn,
      roles: roles.map((name) => ({ name, ...roleOf(access, name) })),
    }),
});
