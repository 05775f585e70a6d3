/** Which project a part of the controls is about. The choice is in the address. */
import type { ReactNode } from 'react'
import { useSearchParams } from 'wouter'
import { useResource } from '../../data/resource.ts'
import { SelectInput } from '../../parts/Fields.tsx'
import { Shown } from '../../parts/States.tsx'

export function WithProject({ children }: { children(client_id: string): ReactNode }) {
  const resource = useResource('projects.list', {})
  const [params, setParams] = useSearchParams()
  return (
    <Shown resource={resource}>
      {({ items }) => {
        const asked = params.get('project')
        const oldest = items.at(-1)?.client_id ?? ''
        const client_id =
          items.find((item) => item.client_id === asked)?.client_id ?? items.find(isDemo)?.client_id ?? oldest
        return (
          <>
            <div className="form-line project-choice">
              <SelectInput
                label="Project"
                value={client_id}
                values={items.map((item) => [item.client_id, item.client_id] as const)}
                onChange={(next) =>
                  setParams(
                    (before) => {
                      const query = new URLSearchParams(before)
                      query.set('project', next)
                      return query
                    },
                    { replace: true },
                  )
                }
              />
            </div>
            {children(client_id)}
          </>
        )
      }}
    </Shown>
  )
}

function isDemo({ client_id }: { client_id: string }): boolean {
  return client_id === 'proj_demo'
}
