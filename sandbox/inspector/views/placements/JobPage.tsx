/** The slots of one job. */
import { CopyButton } from '../../parts/CopyButton.tsx'
import { Page } from '../../parts/Panel.tsx'
import { Empty } from '../../parts/States.tsx'
import { PlacementTable } from './PlacementTable.tsx'

export function JobPage({ id }: { id: string }) {
  return (
    <Page
      title={id}
      heading={
        <span className="bar">
          <code className="clipped">{id}</code>
          <CopyButton text={id} label="Copy the job_id" />
        </span>
      }
      lead="The slots of this job"
      isFull
    >
      <PlacementTable query={{ job_id: id }} empty={<Empty icon="agent" title="There is no such job" />} />
    </Page>
  )
}
