import type { Example } from '../schemas/described.ts';

export const getMe: Example = {
  reply: { user_id: 'ada', signs_in: true, roles: [{ name: 'support', is: 'operator' }] },
};
