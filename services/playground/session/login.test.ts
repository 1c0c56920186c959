import test from 'ava';
import { isRenewalDue, readLogin, renewalOf } from './login.ts';

test('a token is renewed a minute before its end, or in the last third of a short life', (t) => {
  t.is(renewalOf(1000, 3_600_000), 1000 + 3_540_000);
  t.is(renewalOf(1000, 30_000), 1000 + 20_000);
  const login = { renewAt: 500, refreshToken: 'r' };
  t.false(isRenewalDue(login, 499));
  t.true(isRenewalDue(login, 500));
  t.false(isRenewalDue({ renewAt: 500 }, 500), 'it has nothing to renew it by');
  t.false(isRenewalDue({ refreshToken: 'r' }, 500), 'its end is not known');
});

test('what a tab has kept is read, and nothing of what is none', (t) => {
  t.deepEqual(readLogin('{"refreshToken":"r"}'), { refreshToken: 'r' });
  for (const kept of [null, '', '{', 'null', '7', '"text"']) t.deepEqual(readLogin(kept), {});
});
