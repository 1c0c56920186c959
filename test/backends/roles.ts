import { BaseAuth, type AuthRequest } from '@agent-workflow/gateway/auth';

/** Everyone is the user that they say they are, with the roles that they say they have; who says nothing is alice, an admin. */
export class Named extends BaseAuth {
  authenticate({ headers }: AuthRequest) {
    const { 'x-user': user = 'alice', 'x-roles': roles = 'root' } = headers;
    return { user_id: String(user), roles: String(roles).split(',') };
  }
}
