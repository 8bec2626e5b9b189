// The client that most programs for Kubernetes are made of, against one server: typed calls in protobuf, informers,
// dynamic objects, server-side apply, paging, discovery, leader election. Ends with 0 if everything is as it should be.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

const (
	objects = 40
	manager = "go-client"
)

var patience = 20 * time.Second

// counts is what an informer has told about.
type counts struct{ added, updated, deleted atomic.Int64 }

func (c *counts) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.added.Add(1) },
		UpdateFunc: func(any, any) { c.updated.Add(1) },
		DeleteFunc: func(any) { c.deleted.Add(1) },
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go-client KUBECONFIG NAMESPACE GROUP")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS, config.Burst = 1000, 1000
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	typedConfig := rest.CopyConfig(config)
	typedConfig.ContentType = runtime.ContentTypeProtobuf
	typedConfig.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	typed := kubernetes.NewForConfigOrDie(typedConfig)
	untyped := dynamic.NewForConfigOrDie(config)
	namespace, group := os.Args[2], os.Args[3]

	checkDiscovery(typed, group)
	checkTyped(ctx, typed, namespace)
	checkDynamic(ctx, untyped, namespace, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "boats"})
	checkPaging(ctx, typed, namespace)
	checkApply(ctx, typed, namespace)
	checkLeaderElection(ctx, typed, namespace)
	fmt.Println("ok")
}

// checkDiscovery looks for built-in and custom resources among what the server says it has.
func checkDiscovery(client kubernetes.Interface, group string) {
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	check(err)
	found := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			found[list.GroupVersion+"/"+resource.Name] = true
		}
	}
	for _, wanted := range []string{"v1/configmaps", "apps/v1/deployments", "apps/v1/deployments/scale", group + "/v1/boats"} {
		expect(found[wanted], "discovery does not list %s", wanted)
	}
}

// checkTyped creates, updates and deletes through the typed client while an informer watches.
func checkTyped(ctx context.Context, client kubernetes.Interface, namespace string) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "by=" + manager }))
	informer := factory.Core().V1().ConfigMaps()
	var seen counts
	_, err := informer.Informer().AddEventHandler(seen.handler())
	check(err)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(stop.Done())
	expect(cache.WaitForCacheSync(stop.Done(), informer.Informer().HasSynced), "the informer of config maps did not sync")

	maps := client.CoreV1().ConfigMaps(namespace)
	var group sync.WaitGroup
	for n := range objects {
		group.Go(func() {
			name := fmt.Sprintf("typed-%d", n)
			made, err := maps.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"by": manager}},
				Data:       map[string]string{"n": "0"},
				BinaryData: map[string][]byte{"raw": {0, 1, 255}},
			}, metav1.CreateOptions{})
			check(err)
			expect(made.UID != "" && made.ResourceVersion != "", "%s has no uid or version", name)
			check(retry.RetryOnConflict(retry.DefaultRetry, func() error {
				now, err := maps.Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				now.Data["n"] = "1"
				_, err = maps.Update(ctx, now, metav1.UpdateOptions{FieldManager: manager})
				return err
			}))
			made.Data["n"] = "2"
			_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
			expect(apierrors.IsConflict(err), "an update of an old version says %v", err)
			if n%2 == 0 {
				check(maps.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
			}
		})
	}
	group.Wait()
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "typed-1"}}, metav1.CreateOptions{})
	expect(apierrors.IsAlreadyExists(err), "a second create says %v", err)
	_, err = maps.Get(ctx, "nope", metav1.GetOptions{})
	expect(apierrors.IsNotFound(err), "a get of nothing says %v", err)

	eventually(ctx, "the informer of config maps catches up", func() bool {
		return seen.added.Load() == objects && seen.deleted.Load() == objects/2 && seen.updated.Load() == objects
	})
	listed, err := informer.Lister().ConfigMaps(namespace).List(labels.Everything())
	check(err)
	expect(len(listed) == objects/2, "the cache holds %d config maps", len(listed))
	for _, each := range listed {
		expect(each.Data["n"] == "1" && len(each.BinaryData["raw"]) == 3, "%s is not as it was written", each.Name)
	}
}

// checkDynamic does the same to a custom resource, without types.
func checkDynamic(ctx context.Context, client dynamic.Interface, namespace string, resource schema.GroupVersionResource) {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	informer := factory.ForResource(resource)
	var seen counts
	_, err := informer.Informer().AddEventHandler(seen.handler())
	check(err)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(stop.Done())
	expect(cache.WaitForCacheSync(stop.Done(), informer.Informer().HasSynced), "the informer of boats did not sync")

	boats := client.Resource(resource).Namespace(namespace)
	boat := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": "Boat",
		"metadata": map[string]any{"name": "swan"}, "spec": map[string]any{"oars": int64(2)},
	}}
	made, err := boats.Create(ctx, boat, metav1.CreateOptions{})
	check(err)
	check(unstructured.SetNestedField(made.Object, int64(4), "status", "oars"))
	made, err = boats.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	check(err)
	expect(made.GetGeneration() == 1, "a change of status made generation %d", made.GetGeneration())
	made, err = boats.Patch(ctx, "swan", types.MergePatchType, []byte(`{"spec":{"oars":6}}`), metav1.PatchOptions{})
	check(err)
	expect(made.GetGeneration() == 2, "a change of spec made generation %d", made.GetGeneration())
	_, err = boats.Patch(ctx, "swan", types.MergePatchType, []byte(`{"spec":{"oars":60}}`), metav1.PatchOptions{})
	expect(apierrors.IsInvalid(err), "too many oars say %v", err)
	eventually(ctx, "the informer of boats catches up", func() bool {
		found, err := informer.Lister().ByNamespace(namespace).Get("swan")
		if err != nil {
			return false
		}
		oars, _, _ := unstructured.NestedInt64(found.(*unstructured.Unstructured).Object, "spec", "oars")
		return oars == 6 && seen.updated.Load() == 2
	})
	check(boats.Delete(ctx, "swan", metav1.DeleteOptions{}))
	eventually(ctx, "the informer of boats sees the deletion", func() bool { return seen.deleted.Load() == 1 })
}

// checkPaging reads a list in pieces.
func checkPaging(ctx context.Context, client kubernetes.Interface, namespace string) {
	maps := client.CoreV1().ConfigMaps(namespace)
	pages := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) }))
	pages.PageSize = 7
	found := 0
	check(pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: "by=" + manager}, func(runtime.Object) error {
		found++
		return nil
	}))
	expect(found == objects/2, "paging found %d config maps", found)
	check(maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "by=" + manager}))
}

// checkApply applies by two managers.
func checkApply(ctx context.Context, client kubernetes.Interface, namespace string) {
	maps := client.CoreV1().ConfigMaps(namespace)
	red := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"colour": "red"})
	blue := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"colour": "blue"})
	_, err := maps.Apply(ctx, red, metav1.ApplyOptions{FieldManager: "one"})
	check(err)
	_, err = maps.Apply(ctx, blue, metav1.ApplyOptions{FieldManager: "two"})
	expect(apierrors.IsConflict(err), "a second manager gets %v", err)
	made, err := maps.Apply(ctx, blue, metav1.ApplyOptions{FieldManager: "two", Force: true})
	check(err)
	mine, err := applycorev1.ExtractConfigMap(made, "two")
	check(err)
	expect(mine.Data["colour"] == "blue", "two manages %v", mine.Data)
}

// checkLeaderElection becomes a leader and gives it up.
func checkLeaderElection(ctx context.Context, client kubernetes.Interface, namespace string) {
	led := make(chan struct{})
	running, stop := context.WithCancel(ctx)
	leaderelection.RunOrDie(running, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: manager},
		},
		LeaseDuration: 5 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(led); time.Sleep(500 * time.Millisecond); stop() },
			OnStoppedLeading: func() {},
		},
	})
	select {
	case <-led:
	default:
		log.Fatal("nobody became the leader")
	}
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	check(err)
	expect(lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "", "the lease was not released")
}

func eventually(ctx context.Context, what string, done func() bool) {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) { return done(), nil })
	expect(err == nil, "not in %s: %s", patience, what)
}

func expect(ok bool, format string, arguments ...any) {
	if !ok {
		log.Fatalf(format, arguments...)
	}
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}
