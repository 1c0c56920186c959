import test from 'ava';
import { createRefuseWebhook } from './run-webhook.ts';

const json = (url: string): string => JSON.stringify({ url });

test('a webhook of a run is refused where it is known at once that nothing is sent there', (t) => {
  const refuse = createRefuseWebhook({ hosts: undefined, networks: undefined });
  for (const host of [
    ...['127.0.0.1', '127.1', '0x7f.1', '2130706433', '10.1.2.3:8080', '169.254.169.254', '0.0.0.0', '192.168.1.1'],
    ...['[::1]', '[::ffff:127.0.0.1]', '[fd00::1]', '[fe80::1]', 'localhost', 'localhost.', 'LOCALHOST', 'a.localhost'],
  ])
    t.throws(
      () => {
        refuse(json(`http://${host}/hook`));
      },
      { message: 'webhook.url: cannot be sent to: the address is not one of the public internet' },
      host,
    );
  for (const host of ['example.com', '8.8.8.8', '[2606:4700::1111]', 'localhost.example.com', '127.0.0.1.example.com'])
    t.notThrows(() => {
      refuse(json(`https://${host}/hook`));
    }, host);
});

test('an operator may open networks to the webhooks of runs, and restrict their hosts', (t) => {
  const opened = createRefuseWebhook({ hosts: undefined, networks: [{ address: '127.0.0.0', bits: 8 }] });
  for (const host of ['127.0.0.1', 'localhost'])
    t.notThrows(() => {
      opened(json(`http://${host}/hook`));
    });
  t.throws(() => {
    opened(json('http://10.0.0.1/hook'));
  });
  const restricted = createRefuseWebhook({ hosts: ['*.example.com'], networks: undefined });
  t.notThrows(() => {
    restricted(json('https://a.example.com/hook'));
  });
  t.throws(
    () => {
      restricted(json('https://example.org/hook'));
    },
    { message: /^webhook\.url: cannot be sent to: the host is not one/ },
  );
});
