import { levels } from '../../../access/rules.ts';
import { Type } from '../../common/builders.ts';
import { flag, objectOf, text, words } from './common.ts';

export const Me = objectOf('Me', 'Who the caller is.', {
  user_id: text(
    'The id of the caller, with the `owner_prefix` of the issuer where there is one; empty where nobody signs in',
  ),
  signs_in: flag('Whether callers sign in: where they do not, nothing is shared'),
  roles: Type.Array(
    objectOf('RoleOfCaller', 'A role of the caller.', {
      name: text('Its name in `service.json`'),
      is: words(levels, {
        description: 'What it is for',
        meanings: {
          user: 'a name for lists',
          approver: 'answers questions',
          operator: 'sees runs and threads of everybody',
          admin: 'all of that, and the audit',
        },
      }),
      reads: Type.Optional(
        words(['contents'] as const, {
          description: 'Of an operator who reads contents for a reason; an admin does in any case',
          meanings: { contents: 'messages, states and steps of everybody' },
        }),
      ),
    }),
    { description: 'The roles of the caller' },
  ),
});
