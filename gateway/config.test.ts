import test from 'ava';
import { hostOf } from './config.ts';

test('without authentication only the own machine is let in, unless the operator says otherwise', (t) => {
  t.is(hostOf({ HOST: undefined }, { auth: null }), '127.0.0.1');
  t.is(hostOf({ HOST: undefined }, { auth: 'jwt' }), '0.0.0.0');
  t.is(hostOf({ HOST: '::' }, { auth: null }), '::');
});
