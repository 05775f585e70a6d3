/** Line icons on a grid of 24: the demo host's, and a few for the inspector. */
import demoIcons from '#fixtures/demo/icons.json' with { type: 'json' }

const ownIcons = {
  overview: 'M4 12.500 12 5l8 7.500M6.500 10.500V19h11v-8.500M10.500 19v-5h3v5',
  playground: 'M8 5.500v13l10.500-6.500z',
  placements: 'M4 5h16v14H4zm3 3h6v4H7zm9 0h1m-1 4h1M7 16h10',
  beacons: 'M12 11.500v8M9.500 14a4 4 0 1 1 5 0M6.500 16.500a8 8 0 1 1 11 0',
  requests: 'M4 8h14m-4-4 4 4-4 4M20 16H6m4-4-4 4 4 4',
  callbacks: 'M5 12a7 7 0 0 1 12-5l2.500 2.500m0-5v5h-5M19 12a7 7 0 0 1-12 5l-2.500-2.500m0 5v-5h5',
  billing: 'M6 3.500h12v17l-3-2-3 2-3-2-3 2zM9 8.500h6m-6 4h6',
  chain: 'M9.500 14.500l5-5M11 7l1.500-1.500a4 4 0 0 1 6 6L17 13m-4 4-1.500 1.500a4 4 0 0 1-6-6L7 11',
  consent: 'M12 4l7 2.500V12c0 4-3 7-7 8-4-1-7-4-7-8V6.500zm-3 8 2.200 2.200L15.500 10',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm0 4v4l3 2',
  filter: 'M4 6h16l-6 7v5l-4 2v-7z',
  close: 'm6 6 12 12M18 6 6 18',
  key: 'M14.500 4.500a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 13l-7 7m3-3 2 2',
  add: 'M12 5v14M5 12h14',
  remove: 'M5 12h14',
  download: 'M12 4v11m-4.500-4.500L12 15l4.500-4.500M5 20h14',
  command:
    'M9 9h6v6H9zm0 0V6.500A2.500 2.500 0 1 0 6.500 9H9zm6 0h2.500A2.500 2.500 0 1 0 15 6.500V9zm0 6v2.500a2.500 2.500 0 1 0 2.500-2.500H15zm-6 0H6.500A2.500 2.500 0 1 0 9 17.500V15z',
} as const

const paths: Readonly<Record<IconName, string>> = { ...demoIcons, ...ownIcons }

export type IconName = keyof typeof demoIcons | keyof typeof ownIcons

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
