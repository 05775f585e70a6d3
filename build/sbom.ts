/**
 * The bill of materials of the package, as CycloneDX: the packages that npm installs with it, and the packages bundled
 * in it. npm knows the first from the lock file, the build knows the second from the modules in its output.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Component {
  type: string
  name: string
  version: string
  purl: string
  'bom-ref'?: string
  scope?: string
  licenses?: { license: { id?: string; name?: string } }[]
}

export interface BillOfMaterials {
  bomFormat: string
  specVersion: string
  serialNumber?: string
  metadata?: { timestamp?: string }
  components: Component[]
}

/** Returns the bill of materials of a built checkout, without the number and the time that npm gives each one. */
export function billOfMaterials(root: string): BillOfMaterials {
  const args = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only']
  const text = execFileSync('npm', args, { cwd: root, encoding: 'utf8' })
  const { serialNumber: _, ...installed } = JSON.parse(text) as BillOfMaterials
  delete installed.metadata?.timestamp
  const known = new Set(installed.components.map(({ purl }) => purl))
  const bundled = bundledComponents(readFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8'))
  return { ...installed, components: [...installed.components, ...bundled.filter(({ purl }) => !known.has(purl))] }
}

/** Returns the packages listed at the top of the notices. */
function bundledComponents(notices: string): Component[] {
  return [...notices.matchAll(/^ {2}(\S+) (\S+) \(([^)]+)\)$/gm)].map(([, name = '', version = '', license = '']) => ({
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ license: / (OR|AND) /.test(license) ? { name: license } : { id: license } }],
  }))
}
