import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WireSecurity } from '@agent-workflow/protos/wire/security';
import type { TestFn } from 'ava';
import forge from 'node-forge';

/** A certificate authority of its own, with a folder of what it has signed. */
export interface Authority extends AsyncDisposable {
  /** Signs a certificate for `localhost` and 127.0.0.1, good until so many days from now: below 0, it has expired. */
  readonly sign: (name: string, days?: number) => Promise<Signed>;
}

type Signed = Required<NonNullable<WireSecurity['tls']>>;

interface TlsFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate as a client of a store is given it. */
export const toTlsFiles = ({ authorities, certificate, key }: Signed): TlsFiles => ({
  caFile: authorities,
  certFile: certificate,
  keyFile: key,
});

/** The authority of a server and another one, for the tests of a file. */
export function openAuthorities(test: TestFn): Promise<readonly [Authority, Authority]> {
  const opened = Promise.all([openAuthority(), openAuthority()]);
  test.after.always(async () => {
    for (const authority of await opened) await authority[Symbol.asyncDispose]();
  });
  return opened;
}

export async function openAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-ca-'));
  const authorities = join(folder, 'ca.pem');
  const signer = newKeys();
  const self = [{ name: 'commonName', value: `authority ${randomBytes(4).toString('hex')}` }];
  const isAuthority = [{ name: 'basicConstraints', cA: true }];
  const root = certify({ subject: self, issuer: self, keys: signer, signer, days: 1, extensions: isAuthority });
  await writeFile(authorities, root);

  return {
    sign: async (name, days = 1) => {
      const keys = newKeys();
      const subject = [{ name: 'commonName', value: name }];
      const files = { certificate: join(folder, `${name}.pem`), key: join(folder, `${name}.key`), authorities };
      await writeFile(files.key, forge.pki.privateKeyToPem(keys.privateKey));
      await writeFile(
        files.certificate,
        certify({ subject, issuer: self, keys, signer, days, extensions: [localNames] }),
      );
      return { ...files, refreshMs: 50 };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** The kinds of name that a certificate is for, as its format numbers them: a DNS name, an address. */
const localNames = {
  name: 'subjectAltName',
  altNames: [
    { type: 2, value: 'localhost' },
    { type: 7, ip: '127.0.0.1' },
  ],
};

// Made by Node: the library's own take seconds.
function newKeys(): forge.pki.rsa.KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    publicKey: forge.pki.publicKeyFromPem(publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    privateKey: forge.pki.privateKeyFromPem(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()),
  };
}

interface Certified {
  readonly subject: forge.pki.CertificateField[];
  readonly issuer: forge.pki.CertificateField[];
  readonly keys: forge.pki.rsa.KeyPair;
  readonly signer: forge.pki.rsa.KeyPair;
  readonly days: number;
  readonly extensions: object[];
}

const dayMs = 86_400_000;

function certify({ subject, issuer, keys, signer, days, extensions }: Certified): string {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  certificate.serialNumber = `01${randomBytes(8).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() - 2 * dayMs);
  certificate.validity.notAfter = new Date(Date.now() + days * dayMs);
  certificate.setSubject(subject);
  certificate.setIssuer(issuer);
  certificate.setExtensions(extensions);
  certificate.sign(signer.privateKey, forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}
