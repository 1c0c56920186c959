import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { eras, serveMcp } from './service.ts';

const secret = 's'.repeat(32);
const service = serveMcp(
  test,
  { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
  {
    auth: 'jwt',
    access: { roles: { manager: { is: 'approver' } } },
    agents: { approving: agentAt('approving') },
    default_agent: 'approving',
  },
);

for (const [era, options] of Object.entries(eras))
  test(`${era}: a client reads whom a call waits for that asks others`, async (t) => {
    const token = makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: era } });
    const can = { elicitation: { form: {} } };
    await using connected = await service.connect(options, can, { authorization: `Bearer ${token}` });
    const result = await connected.client.callTool({ name: 'approving', arguments: { message: 'Pay' } });
    t.true(result.isError);
    t.regex(JSON.stringify(result.content), /the agent has asked others.*waits for an answer of manager/);
  });
